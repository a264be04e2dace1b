import { NewPlantPipe } from '../../plants/pipes/new-plant.pipe.js';
import { type Row, tooLong, toRow } from './rows.js';

const LINE_FEED = 0x0a;
const SPACE = 0x20;

const EMPTY = Buffer.alloc(0);

const pipe = new NewPlantPipe();

/**
 * Reads each line as a body of `POST /plants`. Blank lines are ignored. Lines end at LF alone: readline also splits at CR
 * and U+2028, which a text may have.
 */
export class NdjsonReader {
  /** The beginning of a line whose end has not arrived; empty if it is too long already. */
  #parts: Buffer[] = [];
  #length = 0;
  #line = 0;

  constructor(private readonly maxLength: number) {}

  /** Yields the rows of each chunk. */
  async *rows(input: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
    for await (const chunk of input) {
      const rows: Row[] = [];
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
        this.#add(chunk.subarray(start, end));
        this.#endLine(rows);
        start = end + 1;
      }
      this.#add(chunk.subarray(start));
      yield rows;
    }
    const rows: Row[] = [];
    this.#endLine(rows);
    yield rows;
  }

  #add(part: Buffer): void {
    this.#length += part.length;
    if (this.#length <= this.maxLength) this.#parts.push(part);
    else this.#parts = [];
  }

  #endLine(rows: Row[]): void {
    const isTooLong = this.#length > this.maxLength;
    const [part = EMPTY] = this.#parts;
    const bytes = this.#parts.length > 1 ? Buffer.concat(this.#parts) : part;
    this.#parts = [];
    this.#length = 0;
    this.#line += 1;
    if (isTooLong) rows.push(tooLong(this.#line, this.maxLength));
    else if (bytes.some((byte) => byte > SPACE)) rows.push(toRow(this.#line, () => pipe.transform(bytes)));
  }
}
