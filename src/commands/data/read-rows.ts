import { CsvReader } from './csv.js';
import type { Format } from './formats.js';
import { NdjsonReader } from './ndjson.js';
import type { RowReader } from './rows.js';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Creates a reader that applies the rules of `POST /plants`.
 *
 * @param maxLength maximum length of a row in bytes
 */
export function createReader(format: Format, maxLength: number): RowReader {
  return format === 'csv' ? new CsvReader(maxLength) : new NdjsonReader(maxLength);
}

/** Yields the chunks of a file without its byte order mark. */
export async function* withoutByteOrderMark(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const chunk of input) {
    const hasMark = isFirst && chunk.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    isFirst = false;
    yield hasMark ? chunk.subarray(BYTE_ORDER_MARK.length) : chunk;
  }
}
