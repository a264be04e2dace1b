import { readJson, type Reading } from './read-plant.js';
import { RowParser } from './row-parser.js';

/** Parses NDJSON. Blank lines are ignored. */
export class NdjsonParser extends RowParser {
  protected override readRow(): Reading | null | undefined {
    const end = this.#endOfLine();
    if (end === undefined) return undefined;
    const line = this.text.slice(this.position, end);
    this.position = end + 1;
    this.line += 1;
    return line.trim() === '' ? null : readJson(line);
  }

  protected override skip(): boolean {
    const end = this.#endOfLine();
    this.position = (end ?? this.text.length) + 1;
    if (end !== undefined) this.line += 1;
    return end !== undefined;
  }

  #endOfLine(): number | undefined {
    const end = this.text.indexOf('\n', this.position);
    if (end !== -1) return end;
    return this.isAtEnd ? this.text.length : undefined;
  }
}
