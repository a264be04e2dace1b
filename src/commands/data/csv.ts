import { constants } from 'node:buffer';
import { finished } from 'node:stream/promises';
import { CsvError, parse, type Parser } from 'csv-parse';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../../contract/plant-fields.js';
import { listed } from '../../operator-text.js';
import { OperatorError } from '../../operator-error.js';
import { toNewPlant } from '../../plants/dto/plant.dto.js';
import { exactInteger } from '../../plants/exact-json.js';
import { type ByteString, fromBytes, toBytes, withoutByteOrderMark } from './byte-string.js';
import { type Row, type RowReader, tooLong, toRow } from './rows.js';

/** The import rejects rows of up to this multiple of the maximum length. A longer row ends the import, to bound memory. */
const MAX_LENGTHS = 16;

/** Maximum length of a row with a high BODY_LIMIT: csv-parse makes a string of it, with each quotation mark doubled. */
const LONGEST_RECORD = Math.floor(constants.MAX_STRING_LENGTH / 2);

const LF = '\n'.charCodeAt(0);

const REQUIRED_NAMES = FIELD_NAMES.filter((name) => PLANT_FIELDS[name].isRequired);
const OPTIONAL_NAMES = FIELD_NAMES.filter((name) => !PLANT_FIELDS[name].isRequired);

const WRONG_HEADER =
  `The first line must name the columns ${listed(REQUIRED_NAMES, 'and')}, in any order and in upper or lower case, ` +
  `each once; ${listed(OPTIONAL_NAMES, 'and')} may be missing. If the file is NDJSON, pass --format ndjson`;

const CUT_OFF = 'The last line has no end, so the file may be cut off: complete the row, and end its line.';

/** Makes the value of a field from its text. */
const READERS: Readonly<Record<FieldType, (text: string) => unknown>> = {
  int64: readInteger,
  text: (text) => text,
};

/** A row as csv-parse returns it. */
interface CsvRecord {
  /** Undefined for an empty field without quotation marks. */
  readonly record: readonly (ByteString | undefined)[];
  /** The source of the row, with the first byte of the end of its line. */
  readonly raw: ByteString;
}

/**
 * Reads CSV of RFC 4180 with a header, which names the columns in any order. Blank lines and other columns are ignored. A
 * last row whose line has no end is rejected, because it may have been cut off. An empty field is an absent value, unless
 * it has quotation marks or its column is required.
 */
export class CsvReader implements RowReader {
  readonly #parser: Parser;
  #header: { readonly names: readonly string[]; readonly source: ByteString } | undefined;
  /** The line on which the next record begins. csv-parse counts each CRLF between quotation marks twice. */
  #line = 1;
  readonly #maxRecordLength: number;

  constructor(private readonly maxLength: number) {
    this.#maxRecordLength = Math.min(MAX_LENGTHS * maxLength, LONGEST_RECORD);
    this.#parser = parse({
      cast: (field, { quoting }) => (field === '' && !quoting ? undefined : field),
      // With latin1, the parser returns byte strings.
      encoding: 'latin1',
      max_record_size: this.#maxRecordLength,
      raw: true,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
    });
    // `rows` throws the parser's error.
    this.#parser.on('error', () => undefined);
  }

  async *rows(input: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
    let isLineEnded = false;
    for await (const chunk of withoutByteOrderMark(input)) {
      // csv-parse parses the chunk before `write` returns.
      this.#parser.write(chunk);
      yield this.#parsed().flatMap((record) => this.#read(record, false));
      if (this.#parser.errored !== null) break;
      isLineEnded = chunk.at(-1) === LF;
    }
    await this.#end();
    const records = this.#parsed();
    const cutOff = isLineEnded ? undefined : records.at(-1);
    yield records.flatMap((record) => this.#read(record, record === cutOff));
    if (this.#header === undefined) throw new OperatorError(`The file is empty. ${WRONG_HEADER}`);
  }

  /** The columns `line` and `reason` come first. An import ignores columns of other names. */
  rejectsHeader(): ByteString {
    return `line,reason,${this.#header?.source ?? ''}\r\n`;
  }

  rejectedRow({ line, source }: Row, reason: string): ByteString {
    return `${line},"${toBytes(reason).replaceAll('"', '""')}",${source}\r\n`;
  }

  /** Returns the records that the parser has found since the last call. */
  #parsed(): CsvRecord[] {
    const records: CsvRecord[] = [];
    let record: unknown;
    while ((record = this.#parser.read()) !== null) records.push(record as CsvRecord);
    return records;
  }

  /** Ends the input of the parser, and throws its error, if it has one. */
  async #end(): Promise<void> {
    this.#parser.end();
    try {
      await finished(this.#parser, { readable: false });
    } catch (error) {
      throw error instanceof CsvError ? this.#describe(error) : error;
    }
  }

  /**
   * Returns the row of a record, or nothing if the record is the header or a blank line.
   *
   * @param isCutOff true if the line has no end
   */
  #read({ record, raw }: CsvRecord, isCutOff: boolean): Row[] {
    const line = this.#line;
    const source = /[\r\n]$/.test(raw) ? raw.slice(0, -1) : raw;
    this.#line += source.split('\n').length;
    if (this.#header === undefined) {
      this.#header = { names: readHeader(record, source), source };
      if (isCutOff) throw new OperatorError(`The first line has no end, so the file may be cut off. ${WRONG_HEADER}`);
      return [];
    }
    if (source === '') return [];
    if (source.length > this.maxLength) return [tooLong(line, this.maxLength)];
    if (isCutOff) return [{ kind: 'rejected', line, source, reason: CUT_OFF }];
    return [readRow(line, source, this.#header.names, record)];
  }

  #describe(cause: CsvError): OperatorError {
    if (this.#header === undefined) return new OperatorError(WRONG_HEADER, { cause });
    return new OperatorError(
      `line ${this.#line}: its quotation marks are wrong, or the row has more than ${this.#maxRecordLength} ` +
        'bytes: write 5" pot as "5"" pot", and import the file again',
      { cause },
    );
  }
}

/** Returns the names in a header, which must have each column once, but may lack those that a plant need not have. */
function readHeader(record: CsvRecord['record'], source: ByteString): readonly string[] {
  if (/\r./s.test(source)) {
    throw new OperatorError('The lines end with CR alone: convert the file to LF or CRLF, for example with mac2unix');
  }
  const names = record.map((name = '') => name.toLowerCase());
  const isRight = FIELD_NAMES.every((name) => {
    const count = names.filter((other) => other === name).length;
    return count === 1 || (count === 0 && !PLANT_FIELDS[name].isRequired);
  });
  if (!isRight) throw new OperatorError(WRONG_HEADER);
  return names;
}

function readRow(line: number, source: ByteString, names: readonly string[], record: CsvRecord['record']): Row {
  if (record.length !== names.length) {
    return {
      kind: 'rejected',
      line,
      source,
      reason: `The header has ${names.length} fields, but the row ${record.length}.`,
    };
  }
  return toRow(line, source, () => {
    const fields: Partial<Record<FieldName, unknown>> = {};
    for (const name of FIELD_NAMES) {
      const { type, isRequired } = PLANT_FIELDS[name];
      const field = record[names.indexOf(name)] ?? (isRequired ? '' : undefined);
      if (field !== undefined) fields[name] = READERS[type](fromBytes(field));
    }
    return toNewPlant(fields);
  });
}

/** Reads an integer as JSON spells it. Returns null for another text, such as `-07`, which has a leading zero. */
function readInteger(text: string): bigint | null {
  return /^-?0\d/.test(text) ? null : (exactInteger(text) ?? null);
}
