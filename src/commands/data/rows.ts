import { isUtf8 } from 'node:buffer';
import { ContractException } from '../../contract/contract.exception.js';
import type { StoredPlant } from '../../storage/plant-repository.js';

/** A row of a file: a plant, or the reason why it is none. CSV may have several lines a row: `line` is the first. */
export type Row =
  | { readonly line: number; readonly plant: StoredPlant; readonly reason?: never }
  | { readonly line: number; readonly plant?: never; readonly reason: string };

/** Returns the plant that `read` returns, or the reason why it refuses to. */
export function toRow(line: number, read: () => StoredPlant): Row {
  try {
    return { line, plant: read() };
  } catch (error) {
    if (error instanceof ContractException) return { line, reason: error.message };
    throw error;
  }
}

export function tooLong(line: number, maxLength: number): Row {
  return { line, reason: `The row is too long: at most ${maxLength} bytes are accepted; raise BODY_LIMIT.` };
}

/**
 * Decodes a text whose characters are bytes.
 *
 * @throws {ContractException} if they are not UTF-8
 */
export function decode(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes)) return bytes;
  const buffer = Buffer.from(bytes, 'latin1');
  if (isUtf8(buffer)) return buffer.toString('utf8');
  throw new ContractException(400, 'The row is not UTF-8: write the file in this encoding.');
}
