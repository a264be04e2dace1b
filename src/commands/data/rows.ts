import { ContractException } from '../../contract/contract.exception.js';
import { OperatorError } from '../../operator-error.js';
import { parseNewPlant } from '../../plants/parse-new-plant.js';
import type { StoredPlant } from '../../storage/plant-repository.js';

interface PlantRow {
  /** The place of the row: `line 17` of NDJSON, or `row 17` of CSV, as a spreadsheet numbers rows. */
  readonly place: string;
  readonly plant: StoredPlant;
}

interface RejectedRow {
  readonly place: string;
  /** Why the row is no plant. */
  readonly reason: string;
}

/** A row of a file. */
export type Row = PlantRow | RejectedRow;

/** Reads a row by the rules of `POST /plants`. */
export function readRow(place: string, json: string): Row {
  try {
    return { place, plant: parseNewPlant(json) };
  } catch (error) {
    if (!(error instanceof ContractException)) throw error;
    return { place, reason: error.message.replace(/^The body\b/, 'The row') };
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
