import { CsvReader } from './csv.js';
import type { Format } from './formats.js';
import { readNdjson } from './ndjson.js';
import type { Row } from './rows.js';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads a file by the rules of `POST /plants`, and returns the rows of each chunk.
 *
 * @param maxLength maximum length of a row in bytes
 * @throws {OperatorError} if the file is not of this format at all
 */
export function readRows(format: Format, input: AsyncIterable<Buffer>, maxLength: number): AsyncIterable<Row[]> {
  const chunks = withoutByteOrderMark(input);
  return format === 'csv' ? new CsvReader(maxLength).rows(chunks) : readNdjson(chunks, maxLength);
}

async function* withoutByteOrderMark(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const chunk of input) {
    const hasMark = isFirst && chunk.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    isFirst = false;
    yield hasMark ? chunk.subarray(BYTE_ORDER_MARK.length) : chunk;
  }
}
