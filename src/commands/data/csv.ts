import { isUtf8 } from 'node:buffer';
import { type CsvErrorCode, parse, type Parser } from 'csv-parse';
import { ContractException } from '../../contract/contract.exception.js';
import { toNewPlant } from '../../plants/dto/new-plant.dto.js';
import { exactInteger } from '../../plants/pipes/exact-integer.js';
import { CommandError } from '../../process/command-error.js';
import { COLUMN_NAMES, isRequiredOfPlants } from '../../storage/plant-columns.js';
import type { StoredPlant } from '../../storage/plant-repository.js';
import { type Row, tooLong, toRow } from './rows.js';

/** A row of up to so many maximum lengths is rejected; a longer one ends the import, because memory is limited. */
const MAX_LENGTHS = 16;

/** A row as csv-parse returns it. Each character is one byte. */
interface CsvRecord {
  readonly record: readonly string[];
  /** The source of the row, with the first byte of its line break. */
  readonly raw: string;
}

/** A row that csv-parse cannot read. */
interface Failure {
  readonly code: CsvErrorCode | undefined;
  /** Number of records before it. */
  readonly index: number;
}

/**
 * Reads CSV of RFC 4180 with a header, which names the columns in any order. Blank lines and other columns are ignored.
 * An empty field is an absent value, unless it has quotation marks or its column is required.
 *
 * @throws {CommandError} for a wrong header, and for wrong quotation marks, after which rows cannot be told apart
 */
export async function* readCsv(input: AsyncIterable<Buffer>, maxLength: number): AsyncGenerator<Row[]> {
  const reader = new CsvReader(maxLength);
  for await (const chunk of input) {
    yield reader.push(chunk);
    reader.assertReadable();
  }
  yield await reader.end();
  reader.assertReadable();
}

/** Turns the records of csv-parse into rows, and knows their lines. */
class CsvReader {
  readonly #parser: Parser;
  #failure: Failure | undefined;
  #header: readonly string[] | undefined;
  /** Number of records so far. */
  #index = 0;
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
      // An error of the stream would discard the records before it.
      skip_records_with_error: true,
      on_skip: (error) => {
        this.#failure ??= { code: error?.code, index: this.#parser.info.records };
        return undefined;
      },
    });
  }

  /** Returns the rows whose ends have arrived. */
  push(chunk: Buffer): Row[] {
    this.#parser.write(chunk);
    const rows: Row[] = [];
    for (let record = this.#next(); record !== null; record = this.#next()) {
      const row = this.#read(record);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  /** Returns the remaining rows. */
  async end(): Promise<Row[]> {
    const rows: Row[] = [];
    this.#parser.end();
    for await (const record of this.#parser as AsyncIterable<CsvRecord>) {
      const row = this.#read(record);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  /** @throws {CommandError} if the next record cannot be read */
  assertReadable(): void {
    if (this.#failure === undefined) return;
    if (this.#header === undefined) throw wrongHeader();
    throw new CommandError(`line ${this.#line}: ${describe(this.#failure, this.maxLength)}`);
  }

  #next(): CsvRecord | null {
    return this.#parser.read() as CsvRecord | null;
  }

  /** Returns undefined for the header, for a blank line, and behind a failure. */
  #read({ record, raw }: CsvRecord): Row | undefined {
    if (this.#index === this.#failure?.index) return undefined;
    const line = this.#line;
    const source = raw.endsWith('\r') || raw.endsWith('\n') ? raw.slice(0, -1) : raw;
    this.#index += 1;
    this.#line += source.includes('\n') ? source.split('\n').length : 1;
    if (this.#header === undefined) {
      this.#header = readHeader(record);
      return undefined;
    }
    if (source === '') return undefined;
    if (source.length > this.maxLength) return tooLong(line, this.maxLength);
    return readRecord(line, this.#header, record, source);
  }
}

function readHeader(record: readonly string[]): readonly string[] {
  const isRight = COLUMN_NAMES.every((name) => {
    const count = record.filter((field) => field === name).length;
    return count === 1 || (count === 0 && !isRequiredOfPlants(name));
  });
  if (!isRight) throw wrongHeader();
  return record;
}

function wrongHeader(): CommandError {
  const optional = COLUMN_NAMES.filter((name) => !isRequiredOfPlants(name));
  return new CommandError(
    `The first line must name the columns ${COLUMN_NAMES.join(', ')}, in any order, once each: ` +
      `${optional.join(', ')} may be missing.`,
  );
}

function describe({ code }: Failure, maxLength: number): string {
  if (code === 'CSV_MAX_RECORD_SIZE') {
    return `the row has more than ${MAX_LENGTHS * maxLength} bytes: close its quotation marks, or raise BODY_LIMIT`;
  }
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quotation mark is not closed: close it, and import the file again';
  return 'a quotation mark is in a field without them, or is not doubled: write "5"" pot", and import the file again';
}

function readRecord(line: number, header: readonly string[], record: readonly string[], source: string): Row {
  if (record.length !== header.length) {
    return { line, reason: `The header has ${header.length} fields, but the row ${record.length}.` };
  }
  return toRow(line, () => readPlant(header, record, source));
}

/** @throws {ContractException} if it is not a NewPlant */
function readPlant(header: readonly string[], record: readonly string[], source: string): StoredPlant {
  const fields: Partial<Record<keyof StoredPlant, string>> = {};
  for (const name of COLUMN_NAMES) {
    const index = header.indexOf(name);
    const field = record[index];
    if (field !== undefined && (field !== '' || isRequiredOfPlants(name) || isQuoted(record, index, source))) {
      fields[name] = decode(field);
    }
  }
  return toNewPlant({ ...fields, id: readId(fields.id) });
}

/** Reads an id as JSON spells it, which has no leading zeros. */
function readId(text = ''): bigint | null {
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

/** @throws {ContractException} if the bytes are not UTF-8 */
function decode(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes)) return bytes;
  const buffer = Buffer.from(bytes, 'latin1');
  if (isUtf8(buffer)) return buffer.toString('utf8');
  throw new ContractException(400, 'The row is not UTF-8: write the file in this encoding.');
}
