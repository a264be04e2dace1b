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
export async function* readNdjson(input: AsyncIterable<Buffer>, maxLength: number): AsyncGenerator<Row[]> {
  const reader = new NdjsonReader(maxLength);
  for await (const chunk of input) yield reader.push(chunk);
  yield reader.end();
}

class NdjsonReader {
  /** The beginning of a line whose end has not arrived; empty if it is too long already. */
  #parts: Buffer[] = [];
  #length = 0;
  #line = 0;

  constructor(private readonly maxLength: number) {}

  /** Returns the rows whose ends have arrived. */
  push(chunk: Buffer): Row[] {
    const rows: Row[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#add(chunk.subarray(start, end));
      const row = this.#endLine();
      if (row !== undefined) rows.push(row);
      start = end + 1;
    }
    this.#add(chunk.subarray(start));
    return rows;
  }

  /** Returns the row that has no line break. */
  end(): Row[] {
    const row = this.#endLine();
    return row === undefined ? [] : [row];
  }

  /** Returns undefined for a blank line. */
  #endLine(): Row | undefined {
    const isTooLong = this.#length > this.maxLength;
    const [part = EMPTY] = this.#parts;
    const bytes = this.#parts.length > 1 ? Buffer.concat(this.#parts) : part;
    this.#parts = [];
    this.#length = 0;
    this.#line += 1;
    if (isTooLong) return tooLong(this.#line, this.maxLength);
    return bytes.every((byte) => byte <= SPACE) ? undefined : toRow(this.#line, () => pipe.transform(bytes));
  }

  #add(part: Buffer): void {
    this.#length += part.length;
    if (this.#length <= this.maxLength) this.#parts.push(part);
    else this.#parts = [];
  }
}
