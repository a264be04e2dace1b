import { CsvReader } from './csv.js';
import type { Format } from './formats.js';
import { NdjsonReader } from './ndjson.js';
import type { Row } from './rows.js';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads a file by the rules of `POST /plants`, and returns the rows of each chunk.
 *
 * @param maxLength maximum length of a row in bytes
 * @throws {CommandError} if the file is not of this format at all
 */
export function readRows(format: Format, input: AsyncIterable<Buffer>, maxLength: number): AsyncIterable<Row[]> {
  const reader = format === 'csv' ? new CsvReader(maxLength) : new NdjsonReader(maxLength);
  return reader.rows(withoutByteOrderMark(input));
}

async function* withoutByteOrderMark(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of input) {
    if (start === undefined) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < BYTE_ORDER_MARK.length) continue;
    yield start.subarray(
      BYTE_ORDER_MARK.equals(start.subarray(0, BYTE_ORDER_MARK.length)) ? BYTE_ORDER_MARK.length : 0,
    );
    start = undefined;
  }
  if (start !== undefined) yield start;
}
