import { readFields, type Reading } from './read-plant.js';
import { FormatError, RowParser } from './row-parser.js';

/** The positions of the columns in a row. */
interface Columns {
  readonly id: number;
  readonly name: number;
  readonly tag: number | undefined;
  readonly count: number;
}

/**
 * Parses CSV of RFC 4180 with a header, which names the columns in any order. Blank lines and other columns are ignored.
 * An empty tag is none, unless it has quotation marks.
 */
export class CsvParser extends RowParser {
  #columns: Columns | undefined;
  /** While a row is skipped: true within quotation marks. */
  #isQuoted = false;

  /** @throws {FormatError} if the header lacks a column of a plant, or names one twice */
  protected override readRow(): Reading | null | undefined {
    const start = this.position;
    const end = this.#endOfLine(start);
    const line = end === undefined ? undefined : this.text.slice(start, end);
    if (end === undefined || line === undefined || line.includes('"')) return this.#readQuotedRow();
    this.position = end + 1;
    this.line += 1;
    const content = line.endsWith('\r') ? line.slice(0, -1) : line;
    return content === '' ? null : this.#readFields(content.split(',').map((field) => (field === '' ? null : field)));
  }

  protected override skip(): boolean {
    while (this.position < this.text.length) {
      const character = this.text[this.position];
      this.position += 1;
      if (character === '"') this.#isQuoted = !this.#isQuoted;
      if (character !== '\n') continue;
      this.line += 1;
      if (!this.#isQuoted) return true;
    }
    return false;
  }

  /** Reads a row field by field; undefined if its end has not arrived. */
  #readQuotedRow(): Reading | null | undefined {
    const { text } = this;
    const fields: (string | null)[] = [];
    let from = this.position;
    for (;;) {
      let end: number | undefined;
      if (text[from] === '"') {
        const close = this.#closingQuote(from);
        if (close === undefined) {
          if (!this.isAtEnd) return undefined;
          this.#finishRow(text.length);
          return this.refuse('A quotation mark is not closed.');
        }
        fields.push(text.slice(from + 1, close).replaceAll('""', '"'));
        end = close + 1;
      } else {
        end = this.#endOfField(from);
        if (end === undefined) return undefined;
        const field = text.slice(from, end);
        if (field.includes('"'))
          return this.#refuseLine(end, 'A field with a quotation mark is not in quotation marks.');
        fields.push(field === '' ? null : field);
      }
      if (text[end] === ',') {
        from = end + 1;
        continue;
      }
      const breakAt = text[end] === '\r' ? end + 1 : end;
      if (breakAt >= text.length && !this.isAtEnd) return undefined;
      if (breakAt < text.length && text[breakAt] !== '\n') {
        return this.#refuseLine(end, 'After a closing quotation mark, a comma or the end of the line must follow.');
      }
      this.#finishRow(breakAt);
      return this.#readFields(fields);
    }
  }

  /** @throws {FormatError} for the header */
  protected override refuse(reason: string): Reading {
    if (this.#columns === undefined) throw wrongHeader();
    return super.refuse(reason);
  }

  /** Refuses the row to the end of the line at `from`; undefined if that has not arrived. */
  #refuseLine(from: number, reason: string): Reading | undefined {
    const end = this.#endOfLine(from);
    if (end === undefined) return undefined;
    this.#finishRow(end);
    return this.refuse(reason);
  }

  /** Moves behind a row, and the line break at `end`. */
  #finishRow(end: number): void {
    for (let at = this.text.indexOf('\n', this.position); at !== -1 && at < end; at = this.text.indexOf('\n', at + 1)) {
      this.line += 1;
    }
    this.line += 1;
    this.position = end + 1;
  }

  #readFields(fields: readonly (string | null)[]): Reading | null {
    if (this.#columns === undefined) {
      this.#columns = columnsOf(fields);
      return null;
    }
    const { id, name, tag, count } = this.#columns;
    if (fields.length !== count) return { reason: `The header has ${count} fields, but the row ${fields.length}.` };
    return readFields(fields[id] ?? '', fields[name] ?? '', (tag === undefined ? null : fields[tag]) ?? undefined);
  }

  /** Returns the position of the quotation mark that closes the field at `from`; undefined if it has not arrived. */
  #closingQuote(from: number): number | undefined {
    for (let at = this.text.indexOf('"', from + 1); at !== -1; at = this.text.indexOf('"', at + 2)) {
      // The next character tells a closing mark from the first one of a pair.
      if (at + 1 === this.text.length) return this.isAtEnd ? at : undefined;
      if (this.text[at + 1] !== '"') return at;
    }
    return undefined;
  }

  #endOfField(from: number): number | undefined {
    const line = this.#endOfLine(from);
    if (line === undefined) return undefined;
    const comma = this.text.indexOf(',', from);
    if (comma !== -1 && comma < line) return comma;
    return this.text[line - 1] === '\r' && line > from ? line - 1 : line;
  }

  /** Returns the position of the next line break, or the end of the file; undefined if it has not arrived. */
  #endOfLine(from: number): number | undefined {
    const end = this.text.indexOf('\n', from);
    if (end !== -1) return end;
    return this.isAtEnd ? this.text.length : undefined;
  }
}

function columnsOf(header: readonly (string | null)[]): Columns {
  const [id, name, tag] = ['id', 'name', 'tag'].map((column) => header.indexOf(column));
  const isUnique = ['id', 'name', 'tag'].every((column) => header.indexOf(column) === header.lastIndexOf(column));
  if (id === undefined || name === undefined || id === -1 || name === -1 || !isUnique) {
    throw wrongHeader();
  }
  return { id, name, tag: tag === -1 ? undefined : tag, count: header.length };
}

function wrongHeader(): FormatError {
  return new FormatError(
    'The first line must name the columns id, name and tag, in any order, once each: tag may be missing.',
  );
}
