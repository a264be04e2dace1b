import type { Reading } from './read-plant.js';

/** A row of a file, and the number of its line; a row of CSV may have several. */
export interface Row {
  readonly line: number;
  readonly reading: Reading;
}

/** U+FEFF in UTF-8. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** The file is not of this format at all; the message is one line for the operator. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

/**
 * Splits a file into rows. It works on text in which each character is one byte, so that a chunk may end anywhere, and
 * bytes that are not UTF-8 concern only their row.
 */
export abstract class RowParser {
  protected text = '';
  protected position = 0;
  /** The number of the line at `position`. */
  protected line = 1;
  protected isAtEnd = false;
  /** True while the rest of a row that is too long is skipped. */
  #isSkipping = false;
  /** Chunks after `text`. */
  #chunks: string[] = [];
  #chunksLength = 0;
  #isAtStart = true;

  /** @param maxLength maximum length of a row in bytes */
  constructor(private readonly maxLength: number) {}

  /** Adds a chunk, and returns rows whose ends have arrived. */
  push(chunk: Buffer): Row[] {
    this.#chunks.push(chunk.toString('latin1'));
    this.#chunksLength += chunk.length;
    // Waits for as much again: parsing a long row anew for each chunk would take quadratic time.
    return this.#chunksLength < this.text.length - this.position ? [] : this.#parse();
  }

  /** Ends the file, and returns the remaining rows. */
  end(): Row[] {
    this.isAtEnd = true;
    return this.#parse();
  }

  /**
   * Reads the row at `position`, and moves `position` and `line` behind it.
   *
   * @returns undefined if the end of the row has not arrived; null for a row that has no plant
   */
  protected abstract readRow(): Reading | null | undefined;

  /** Moves behind a row that is too long, from its beginning and as far as it has arrived. Returns whether it has ended. */
  protected abstract skip(): boolean;

  /** Refuses a row. */
  protected refuse(reason: string): Reading {
    return { reason };
  }

  #parse(): Row[] {
    this.text = this.text.slice(this.position) + this.#chunks.join('');
    this.position = 0;
    this.#chunks = [];
    this.#chunksLength = 0;
    if (this.#isAtStart) {
      if (this.text.length < BYTE_ORDER_MARK.length && !this.isAtEnd) return [];
      if (this.text.startsWith(BYTE_ORDER_MARK)) this.position = BYTE_ORDER_MARK.length;
      this.#isAtStart = false;
    }
    const rows: Row[] = [];
    while (this.position < this.text.length) {
      if (this.#isSkipping) {
        this.#isSkipping = !this.skip();
        continue;
      }
      const { position, line } = this;
      const reading = this.readRow();
      if (reading === undefined) {
        if (this.text.length - position <= this.maxLength) break;
        rows.push({ line, reading: this.#tooLong() });
        this.#isSkipping = true;
      } else if (this.position - position > this.maxLength + 2) {
        rows.push({ line, reading: this.#tooLong() });
      } else if (reading !== null) {
        rows.push({ line, reading });
      }
    }
    return rows;
  }

  #tooLong(): Reading {
    return this.refuse(`The row is too long: at most ${this.maxLength} bytes are accepted; raise BODY_LIMIT.`);
  }
}
