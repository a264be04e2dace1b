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
  /** The first bytes, until there are as many as in a mark. */
  let begin: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of input) {
    if (begin === undefined) {
      yield chunk;
      continue;
    }
    begin = Buffer.concat([begin, chunk]);
    if (begin.length < BYTE_ORDER_MARK.length) continue;
    yield withoutMark(begin);
    begin = undefined;
  }
  if (begin !== undefined) yield withoutMark(begin);
}

function withoutMark(begin: Buffer): Buffer {
  const hasMark = begin.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  return hasMark ? begin.subarray(BYTE_ORDER_MARK.length) : begin;
}
