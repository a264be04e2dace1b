import { OperatorError } from '../../operator-error.js';
import { parseNewPlant } from '../../plants/parse-new-plant.js';
import { type ByteString, fromBytes, toBytes, withoutByteOrderMark } from './byte-string.js';
import { type Row, type RowReader, tooLong, toRow } from './rows.js';

/** Matches a line with a comma before any object or array of JSON, such as `id,name,tag`. */
const LOOKS_LIKE_CSV = /^[^{[]*,/;

/**
 * Reads each line as a body of `POST /plants`. Blank lines are ignored. Lines end at LF alone: readline also splits at CR
 * and U+2028, which a text may have.
 */
export class NdjsonReader implements RowReader {
  #line = 0;
  #isFirstRow = true;

  constructor(private readonly maxLength: number) {}

  async *rows(input: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
    let rest: ByteString = '';
    for await (const chunk of withoutByteOrderMark(input)) {
      const [end = '', ...lines] = chunk.toString('latin1').split('\n');
      // A row that is too long is rejected anyway, so its rest is dropped.
      if (rest.length <= this.maxLength) rest += end;
      const rows: Row[] = [];
      for (const next of lines) {
        rows.push(...this.#read(rest));
        rest = next;
      }
      yield rows;
    }
    yield this.#read(rest);
  }

  rejectsHeader(): ByteString {
    return '';
  }

  /** The fields `line` and `reason` come first in the object. A plant may have other fields, so an import ignores them. */
  rejectedRow({ line, source }: Row, reason: string): ByteString {
    const members = `"line":${line},"reason":${toBytes(JSON.stringify(reason))}`;
    const [, content] = /^[ \t\r]*\{(.*)$/s.exec(source) ?? [];
    if (source === '') return `{${members}}\n`;
    if (content === undefined) return `{${members},"row":${JSON.stringify(source)}}\n`;
    return /^[ \t\r]*\}/.test(content) ? `{${members}${content}\n` : `{${members},${content}\n`;
  }

  /** Returns the row of a line, or nothing if the line is blank. */
  #read(source: ByteString): Row[] {
    this.#line += 1;
    if (source.length > this.maxLength) return [tooLong(this.#line, this.maxLength)];
    if (!/[^ \t\r]/.test(source)) return [];
    if (this.#isFirstRow && LOOKS_LIKE_CSV.test(source)) {
      throw new OperatorError(`line ${this.#line} is not JSON: if the file is CSV, pass --format csv`);
    }
    this.#isFirstRow = false;
    return [toRow(this.#line, source, () => parseNewPlant(fromBytes(source)))];
  }
}
