import { isUtf8 } from 'node:buffer';
import { ContractException } from '../../contract/contract.exception.js';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * A text whose characters are the bytes of a file, as latin1 decodes them. The readers split files in this form, and decode
 * each field later. Decoding a file as UTF-8 would replace invalid bytes with U+FFFD, which a valid plant may also have: the
 * import could not tell which row to reject.
 */
export type ByteString = string;

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

/** Yields the chunks of a file without its byte order mark. The option `bom` of csv-parse would decode the rest as UTF-8. */
export async function* withoutByteOrderMark(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  /** The first bytes, while they may be the beginning of a mark. */
  let begin = Buffer.alloc(0);
  let isBegun = false;
  for await (const chunk of input) {
    if (isBegun) {
      yield chunk;
      continue;
    }
    begin = Buffer.concat([begin, chunk]);
    isBegun = begin.length >= BYTE_ORDER_MARK.length;
    if (isBegun) yield withoutMark(begin);
  }
  if (!isBegun) yield begin;
}

function withoutMark(begin: Buffer): Buffer {
  const hasMark = begin.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  return hasMark ? begin.subarray(BYTE_ORDER_MARK.length) : begin;
}
