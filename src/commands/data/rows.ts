import { isUtf8 } from 'node:buffer';
import { ContractException } from '../../contract/contract.exception.js';
import type { StoredPlant } from '../../storage/plant-repository.js';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** A text whose characters are bytes, those of a file: bytes that are not UTF-8 stay as they are. */
export type ByteString = string;

interface RowSource {
  /** The number of its line; CSV may have several lines a row, of which this is the first. */
  readonly line: number;
  /** The row as the file has it, without the end of its line; empty if it is too long. */
  readonly source: ByteString;
}

interface ValidRow extends RowSource {
  readonly kind: 'plant';
  readonly plant: StoredPlant;
}

interface RejectedRow extends RowSource {
  readonly kind: 'rejected';
  /** Why it is no plant. */
  readonly reason: string;
}

/** A row of a file. */
export type Row = ValidRow | RejectedRow;

/** Reads the rows of a file, and writes those that an import rejects, so that they can be corrected and imported again. */
export interface RowReader {
  /**
   * Yields the rows of each chunk.
   *
   * @throws {OperatorError} if the file is not of this format, or its rows cannot be told apart any more
   */
  rows(input: AsyncIterable<Buffer>): AsyncIterable<Row[]>;

  /** Returns the first line of a file of rejected rows, with its end; empty if the format has none. */
  rejectsHeader(): ByteString;

  /** Returns a rejected row with its line and the reason, and the end of the line. */
  reject(row: Row, reason: string): ByteString;
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

/** Returns the row with the plant that `read` returns, or with the reason why it refuses to. */
export function toRow(line: number, source: ByteString, read: () => StoredPlant): Row {
  try {
    return { kind: 'plant', line, source, plant: read() };
  } catch (error) {
    if (!(error instanceof ContractException)) throw error;
    return { kind: 'rejected', line, source, reason: error.message.replace(/^The body\b/, 'The row') };
  }
}

export function tooLong(line: number, maxLength: number): Row {
  const reason = `The row is too long: at most ${maxLength} bytes are accepted; raise BODY_LIMIT.`;
  return { kind: 'rejected', line, source: '', reason };
}

/**
 * Decodes bytes as UTF-8.
 *
 * @throws {ContractException} if they are not UTF-8
 */
export function fromBytes(bytes: ByteString): string {
  if (!/[\x80-\xff]/.test(bytes)) return bytes;
  const buffer = Buffer.from(bytes, 'latin1');
  if (isUtf8(buffer)) return buffer.toString('utf8');
  throw new ContractException(400, 'The row is not UTF-8: write the file in this encoding.');
}

/** Encodes a text as bytes of UTF-8. */
export function toBytes(text: string): ByteString {
  return Buffer.from(text).toString('latin1');
}
