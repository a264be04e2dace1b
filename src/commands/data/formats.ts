import { extname } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { Option } from 'commander';
import { badUsage } from '../../operator-error.js';
import type { StoredPlant } from '../../storage/plant-repository.js';

/** NDJSON has a NewPlant a line; CSV is that of RFC 4180. */
export const FORMATS = ['ndjson', 'csv'] as const;

export type Format = (typeof FORMATS)[number];

/** The first line of a file; NDJSON has none. */
export const HEADERS: Readonly<Record<Format, string>> = { ndjson: '', csv: 'id,name,tag\r\n' };

export function formatOption(): Option {
  const description = 'format of the plants; by default that of the ending of the file, or ndjson if it has none';
  return new Option('--format <format>', description).choices(FORMATS);
}

/**
 * Returns the format that the ending of a file names; NDJSON if it has no ending.
 *
 * @throws {OperatorError} for any other ending
 */
export function formatOf(file: string): Format {
  const ending = extname(file).slice(1);
  if (ending === '') return 'ndjson';
  const format = FORMATS.find((name) => name === ending.toLowerCase());
  if (format !== undefined) return format;
  throw badUsage(`${file} ends with .${ending}, which names no format: use .ndjson or .csv, or pass --format`);
}

/** Returns the lines of these plants. */
export function encodePlants(plants: readonly StoredPlant[], format: Format): string {
  return format === 'csv' ? encodeCsv(plants) : plants.map(toLine).join('');
}

/** Returns the line of NDJSON, which `verify` digests. JSON.stringify takes no bigint. */
function toLine({ id, name, tag }: StoredPlant): string {
  return `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}\n`;
}

/** Puts each text in quotation marks: `""` is an empty text, and nothing is an absent one, as PostgreSQL reads them. */
function encodeCsv(plants: readonly StoredPlant[]): string {
  const records = plants.map(({ id, name, tag }) => [id, name, tag]);
  return stringify(records, { quoted_string: true, record_delimiter: 'windows' });
}
