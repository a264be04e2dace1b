import { COLUMN_NAMES, rowOf } from '../storage/plant-columns.js';
import type { StoredPlant } from '../storage/plant-repository.js';

/** NDJSON has a NewPlant a line; CSV is that of RFC 4180. */
export const FORMATS = ['ndjson', 'csv'] as const;

export type Format = (typeof FORMATS)[number];

/** The first line of a file; NDJSON has none. */
export const HEADERS: Readonly<Record<Format, string>> = { ndjson: '', csv: `${COLUMN_NAMES.join()}\r\n` };

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
function toJson(plant: StoredPlant): string {
  let members = '';
  for (const name of COLUMN_NAMES) {
    const value = plant[name];
    if (value === undefined) continue;
    const json = typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    members += `${members === '' ? '' : ','}"${name}":${json}`;
  }
  return `{${members}}\n`;
}

function toCsv(plant: StoredPlant): string {
  const fields = rowOf(plant).map((value) => (value === null ? '' : toField(String(value))));
  return `${fields.join()}\r\n`;
}

/** Quotes an empty text, because an empty field without quotation marks means no text, as in PostgreSQL. */
function toField(text: string): string {
  return text === '' || SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
