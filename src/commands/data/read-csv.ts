import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { OperatorError } from '../../operator-error.js';
import { readRow, type Row } from './rows.js';

/** Matches a first line with which some programs tell Excel the separator of the file. */
const SEPARATOR_LINE = /^sep=([,;])\r?\n/i;

const HEADER_RULE =
  'the first line must name the columns id, name and tag, separated by commas or semicolons, without blanks beside them, ' +
  'each once; tag may be missing; if the file is NDJSON, pass --format ndjson';

/** An integer. pandas writes 7.0 if its column has gaps, but 7.000 is seven thousand in German. */
const INTEGER = /^-?(?:0|[1-9]\d*)(?:\.0)?$/;

/** A number as a spreadsheet shows it if it has many digits. */
const EXPONENT = /^-?[\d.,]+e[+-]?\d+$/i;

/** A field, undefined if it is empty and has no quotation marks. */
type Field = string | undefined;

/** A record with its number. */
interface CsvRecord {
  readonly record: readonly Field[];
  readonly info: { readonly records: number };
}

/**
 * Reads CSV of RFC 4180 with a header, which names the columns in any order, separated by commas or semicolons. Other
 * columns, and rows without a value, are ignored. An empty field is an absent value, unless it has quotation marks or
 * is a name.
 *
 * @param warn called at the end if the file may be cut off
 */
export async function* readCsv(
  input: AsyncGenerator<string, void>,
  warn: (message: string) => void,
): AsyncGenerator<Row> {
  const texts = warnIfCutOff(input, warn);
  const beginning = await readFirstLine(texts);
  const [separatorLine = '', delimiter = separatorOf(beginning)] = SEPARATOR_LINE.exec(beginning) ?? [];
  const parser = parse({
    cast: (field, { quoting }) => (field === '' && !quoting ? undefined : field),
    delimiter,
    info: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
  });
  let columns: readonly string[] | undefined;
  try {
    // An error of either stream ends the iteration, which throws it.
    const records = pipeline(prepend(beginning.slice(separatorLine.length), texts), parser, () => undefined);
    for await (const { record, info } of records as AsyncIterable<CsvRecord>) {
      if (record.every((field) => field === undefined)) continue;
      if (columns === undefined) columns = columnsOf(record);
      else yield rowOf(`row ${info.records}`, record, columns);
    }
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    throw new OperatorError(faultOf(cause), { cause });
  }
  if (columns === undefined) throw new OperatorError(`the file is empty: ${HEADER_RULE}`);
}

/** Yields the texts, and warns after the last one if it does not end in a line break. */
async function* warnIfCutOff(
  texts: AsyncIterable<string>,
  warn: (message: string) => void,
): AsyncGenerator<string, void> {
  let last = '\n';
  for await (const text of texts) {
    yield text;
    if (text !== '') last = text;
  }
  if (!last.endsWith('\n')) warn('The file does not end in a line break: check that its last row is complete.');
}

async function* prepend(beginning: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield beginning;
  yield* rest;
}

/** Reads until the first line is complete. `for await` would close the texts. */
async function readFirstLine(texts: AsyncGenerator<string, void>): Promise<string> {
  let beginning = '';
  for (;;) {
    const { value, done } = await texts.next();
    if (done === true) return beginning;
    beginning += value;
    if (value.includes('\n')) return beginning;
  }
}

/** Spreadsheets write semicolons where the comma is the decimal separator. */
function separatorOf(beginning: string): string {
  const [header = ''] = beginning.split('\n', 1);
  return header.split(';').length > header.split(',').length ? ';' : ',';
}

function faultOf({ code, records }: CsvError): string {
  // The number of complete records.
  if (records === 0) return HEADER_RULE;
  const row = `row ${Number(records) + 1}`;
  if (code === 'CSV_QUOTE_NOT_CLOSED') return `${row}: a quotation mark is not closed, or the file is cut off there`;
  return `${row}: its quotation marks are wrong: write 5" pot as "5"" pot", and no blank before a quotation mark`;
}

/** Returns the names of the columns in lower case. */
function columnsOf(fields: readonly Field[]): readonly string[] {
  const columns = fields.map((field = '') => field.toLowerCase());
  const count = (name: string): number => columns.filter((column) => column === name).length;
  if (count('id') === 1 && count('name') === 1 && count('tag') <= 1) return columns;
  throw new OperatorError(HEADER_RULE);
}

function rowOf(place: string, fields: readonly Field[], columns: readonly string[]): Row {
  if (fields.length !== columns.length) {
    return { place, reason: `The header has ${columns.length} fields, but the row has ${fields.length}.` };
  }
  const [id = '', name = '', tag] = ['id', 'name', 'tag'].map((column) => fields[columns.indexOf(column)]);
  if (EXPONENT.test(id)) {
    return {
      place,
      reason: `The id ${id} was rounded by a spreadsheet: format the column as text before you fill it.`,
    };
  }
  return readRow(place, `{"id":${INTEGER.test(id) ? id : null},${JSON.stringify({ name, tag }).slice(1)}`);
}
