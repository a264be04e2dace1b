import { stringify } from 'csv-stringify/sync';
import { Option } from 'commander';
import { COLUMN_NAMES } from '../../storage/plant-columns.js';
import type { StoredPlant } from '../../storage/plant-repository.js';

/** NDJSON has a NewPlant a line; CSV is that of RFC 4180. */
export const FORMATS = ['ndjson', 'csv'] as const;

export type Format = (typeof FORMATS)[number];

/** The first line of a file; NDJSON has none. */
export const HEADERS: Readonly<Record<Format, string>> = { ndjson: '', csv: `${COLUMN_NAMES.join()}\r\n` };

export function formatOption(): Option {
  return new Option('--format <format>', 'format of the file').choices(FORMATS).default('ndjson');
}

/** Returns the lines of these plants. */
export function encodePlants(plants: readonly StoredPlant[], format: Format): string {
  return format === 'csv' ? encodeCsv(plants) : plants.map(toJson).join('');
}

/** Returns the canonical line, of which `verify` makes the digest. JSON.stringify takes no bigint. */
function toJson({ id, ...others }: StoredPlant): string {
  return `{"id":${id},${JSON.stringify(others).slice(1)}\n`;
}

/** An empty text has quotation marks, as all texts, and an absent one is an empty field without them, as in PostgreSQL. */
function encodeCsv(plants: readonly StoredPlant[]): string {
  const records = plants.map((plant) => COLUMN_NAMES.map((name) => plant[name]));
  return stringify(records, { quoted_string: true, record_delimiter: 'windows' });
}
