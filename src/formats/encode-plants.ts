import type { StoredPlant } from '../storage/plant-repository.js';

/** NDJSON has a NewPlant a line; CSV is that of RFC 4180. */
export const FORMATS = ['ndjson', 'csv'] as const;

export type Format = (typeof FORMATS)[number];

/** The first line of a file; NDJSON has none. */
export const HEADERS: Readonly<Record<Format, string>> = { ndjson: '', csv: 'id,name,tag\r\n' };

/** Characters that make quotation marks necessary. */
const SPECIAL = /[",\r\n]/;

/** Returns the lines of these plants. */
export function encodePlants(plants: readonly StoredPlant[], format: Format): string {
  const encode = format === 'csv' ? toCsv : toJson;
  let lines = '';
  for (const plant of plants) lines += encode(plant);
  return lines;
}

/** Returns the canonical line, of which `verify` makes the digest. */
function toJson({ id, name, tag }: StoredPlant): string {
  const members = `{"id":${id},"name":${JSON.stringify(name)}`;
  return tag === undefined ? `${members}}\n` : `${members},"tag":${JSON.stringify(tag)}}\n`;
}

function toCsv({ id, name, tag }: StoredPlant): string {
  return `${id},${toField(name)},${tag === undefined ? '' : toField(tag)}\r\n`;
}

/** Quotes an empty text, because an empty field without quotation marks means no text, as in PostgreSQL. */
function toField(text: string): string {
  return text === '' || SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
