import { ContractException } from '../../contract/contract.exception.js';
import { OperatorError } from '../../operator-error.js';
import { parseNewPlant } from '../../plants/parse-new-plant.js';
import type { StoredPlant } from '../../storage/plant-repository.js';

interface PlantRow {
  /** The number of the row's first line. In CSV, a row may have several lines. */
  readonly line: number;
  readonly plant: StoredPlant;
}

interface RejectedRow {
  readonly line: number;
  /** Why the row is no plant. */
  readonly reason: string;
}

/** A row of a file. */
export type Row = PlantRow | RejectedRow;

/** Reads a row by the rules of `POST /plants`. */
export function readRow(line: number, json: string): Row {
  try {
    return { line, plant: parseNewPlant(json) };
  } catch (error) {
    if (!(error instanceof ContractException)) throw error;
    return { line, reason: error.message.replace(/^The body\b/, 'The row') };
  }
}

/**
 * Decodes UTF-8, without a byte order mark.
 *
 * @throws {OperatorError} if the bytes are not UTF-8: otherwise, U+FFFD would replace letters
 */
export async function* decodeUtf8(input: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of input) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw cause;
    throw new OperatorError('the file is not UTF-8: convert it, or save it as “CSV UTF-8” in Excel', { cause });
  }
}
