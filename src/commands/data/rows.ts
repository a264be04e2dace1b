import { ContractException } from '../../contract/contract.exception.js';
import type { StoredPlant } from '../../storage/plant-repository.js';
import type { ByteString } from './byte-string.js';

interface RowSource {
  /** The number of the row's first line. In CSV, a row may have several lines. */
  readonly line: number;
  /** The row as the file has it, without the end of its line; empty if the row is too long. */
  readonly source: ByteString;
}

interface ValidRow extends RowSource {
  readonly kind: 'plant';
  readonly plant: StoredPlant;
}

interface RejectedRow extends RowSource {
  readonly kind: 'rejected';
  /** Why the row is no plant. */
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
  rejectedRow(row: Row, reason: string): ByteString;
}

/** Returns the row with the plant that `read` returns, or with the reason why it refuses to. */
export function toRow(line: number, source: ByteString, read: () => StoredPlant): Row {
  try {
    return { kind: 'plant', line, source, plant: read() };
  } catch (error) {
    if (!(error instanceof ContractException)) throw error;
    // A line of NDJSON is refused as a body of POST /plants.
    return { kind: 'rejected', line, source, reason: error.message.replace(/^The body\b/, 'The row') };
  }
}

export function tooLong(line: number, maxLength: number): Row {
  const reason = `The row is too long: at most ${maxLength} bytes are accepted; raise BODY_LIMIT.`;
  return { kind: 'rejected', line, source: '', reason };
}
