import { CsvParser } from './csv-parser.js';
import type { Format } from './encode-plants.js';
import { NdjsonParser } from './ndjson-parser.js';
import type { RowParser } from './row-parser.js';

/** @param maxLength maximum bytes of a row */
export function createParser(format: Format, maxLength: number): RowParser {
  return format === 'csv' ? new CsvParser(maxLength) : new NdjsonParser(maxLength);
}
