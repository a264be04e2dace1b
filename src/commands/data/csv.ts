import { CsvError, parse, type Parser } from 'csv-parse';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../../contract/plant-fields.js';
import { OperatorError } from '../../contract/operator-error.js';
import { toNewPlant } from '../../plants/dto/plant.dto.js';
import { exactInteger } from '../../plants/pipes/exact-json.js';
import { decode, type Row, tooLong, toRow } from './rows.js';

/** The import rejects rows of up to this multiple of the maximum length. A longer one ends it, to bound memory. */
const MAX_LENGTHS = 16;

const WRONG_HEADER =
  `The first line must name the columns ${FIELD_NAMES.join(', ')} once each, in any order; ` +
  'those that a plant need not have may be missing.';

/** Makes the value of a field from its text. */
const READERS: Readonly<Record<FieldType, (text: string) => unknown>> = {
  int64: readInteger,
  text: (text) => text,
};

/** A row as csv-parse returns it. Each character is one byte. */
interface CsvRecord {
  readonly record: readonly string[];
  /** The source of the row, with the first byte of its line break. */
  readonly raw: string;
}

/**
 * Reads CSV of RFC 4180 with a header, which names the columns in any order. Blank lines and other columns are ignored.
 * An empty field is an absent value, unless it has quotation marks or its column is required.
 */
export class CsvReader {
  readonly #parser: Parser;
  #header: readonly string[] | undefined;
  /** The line on which the next record begins. */
  #line = 1;

  constructor(private readonly maxLength: number) {
    this.#parser = parse({
      // With UTF-8, invalid bytes would become U+FFFD.
      encoding: 'latin1',
      max_record_size: MAX_LENGTHS * maxLength,
      // Tells an empty field in quotation marks from another. So would `cast`, which takes 4 µs for each field.
      raw: true,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
    });
    // The iteration in `rows` throws it.
    this.#parser.on('error', () => undefined);
  }

  /**
   * Yields the rows of each chunk.
   *
   * @throws {OperatorError} for a wrong header, and for wrong quotation marks, after which rows cannot be told apart
   */
  async *rows(input: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
    for await (const chunk of input) {
      if (this.#parser.errored !== null) break;
      this.#parser.write(chunk);
      const rows: Row[] = [];
      for (let record = this.#next(); record !== null; record = this.#next()) this.#read(record, rows);
      yield rows;
    }
    this.#parser.end();
    const rows: Row[] = [];
    try {
      for await (const record of this.#parser as AsyncIterable<CsvRecord>) this.#read(record, rows);
    } catch (error) {
      throw error instanceof CsvError ? this.#describe(error) : error;
    }
    yield rows;
  }

  #next(): CsvRecord | null {
    return this.#parser.read() as CsvRecord | null;
  }

  /** Adds the row of a record, unless it is the header or a blank line. */
  #read({ record, raw }: CsvRecord, rows: Row[]): void {
    const line = this.#line;
    const source = raw.endsWith('\r') || raw.endsWith('\n') ? raw.slice(0, -1) : raw;
    this.#line += source.includes('\n') ? source.split('\n').length : 1;
    if (this.#header === undefined) this.#header = readHeader(record);
    else if (source.length > this.maxLength) rows.push(tooLong(line, this.maxLength));
    else if (source !== '') rows.push(readRow(line, this.#header, record, source));
  }

  #describe(cause: CsvError): OperatorError {
    if (this.#header === undefined) return new OperatorError(WRONG_HEADER);
    return new OperatorError(
      `line ${this.#line}: its quotation marks are wrong, or the row has more than ${MAX_LENGTHS * this.maxLength} ` +
        'bytes: write 5" pot as "5"" pot", and import the file again',
      { cause },
    );
  }
}

/** Returns the header if it has each column once, where those that a plant need not have may be missing. */
function readHeader(record: readonly string[]): readonly string[] {
  const isRight = FIELD_NAMES.every((name) => {
    const count = record.filter((field) => field === name).length;
    return count === 1 || (count === 0 && !PLANT_FIELDS[name].isRequired);
  });
  if (!isRight) throw new OperatorError(WRONG_HEADER);
  return record;
}

function readRow(line: number, header: readonly string[], record: readonly string[], source: string): Row {
  if (record.length !== header.length) {
    return { line, reason: `The header has ${header.length} fields, but the row ${record.length}.` };
  }
  return toRow(line, () => {
    const fields: Partial<Record<FieldName, unknown>> = {};
    for (const name of FIELD_NAMES) {
      const index = header.indexOf(name);
      const field = record[index];
      if (field === undefined) continue;
      const { type, isRequired } = PLANT_FIELDS[name];
      if (field !== '' || isRequired || isQuoted(record, index, source)) fields[name] = READERS[type](decode(field));
    }
    return toNewPlant(fields);
  });
}

/** Reads an integer as JSON spells it, which has no leading zeros. */
function readInteger(text: string): bigint | null {
  return /^-?0\d/.test(text) ? null : (exactInteger(text) ?? null);
}

/** Returns whether a field has quotation marks in the source of its row. */
function isQuoted(record: readonly string[], index: number, source: string): boolean {
  let position = 0;
  for (const field of record.slice(0, index)) {
    const length = source[position] === '"' ? field.replaceAll('"', '""').length + 2 : field.length;
    position += length + 1;
  }
  return source[position] === '"';
}
