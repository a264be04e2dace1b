import fc from 'fast-check';
import { anyPlant } from '../../test/support/plant-json.js';
import { NewPlantPipe } from '../plants/pipes/new-plant.pipe.js';
import type { StoredPlant } from '../storage/plant-repository.js';
import { CsvParser } from './csv-parser.js';
import { encodePlants, type Format, FORMATS, HEADERS } from './encode-plants.js';
import { NdjsonParser } from './ndjson-parser.js';
import { readJson } from './read-plant.js';
import { type Row, type RowParser } from './row-parser.js';

const LIMIT = 1_000;

function parserOf(format: Format): RowParser {
  return format === 'csv' ? new CsvParser(LIMIT) : new NdjsonParser(LIMIT);
}

/** Parses a file that arrives in chunks of this size. */
function parse(format: Format, file: string | Buffer, chunkSize = 65_536): Row[] {
  const parser = parserOf(format);
  const bytes = Buffer.from(file);
  const rows: Row[] = [];
  for (let at = 0; at < bytes.length; at += chunkSize) rows.push(...parser.push(bytes.subarray(at, at + chunkSize)));
  return [...rows, ...parser.end()];
}

/** Returns each row as a plant, or as the beginning of its reason. */
function summary(rows: readonly Row[]): unknown[] {
  return rows.map(({ line, reading }) =>
    'reason' in reading ? [line, reading.reason.split(/[:;.]/)[0]] : [line, reading.id, reading.name, reading.tag],
  );
}

/** Texts that look like the syntax around them. */
const hostileText = fc.oneof(
  anyPlant.map(({ name }) => name),
  fc
    .array(fc.constantFrom('"', '""', ',', '\r', '\n', '\r\n', '\\.', '\\', 'a', ' ', '\u0301', '\u{1fab4}', '\ufeff'))
    .map((parts) => parts.join('')),
);

const plants = fc.array(
  fc.record({
    id: anyPlant.map(({ id }) => id),
    name: hostileText,
    tag: fc.option(hostileText, { nil: undefined }),
  }),
  { maxLength: 6 },
);

describe.each(FORMATS)('%s', (format) => {
  it('is read as the plants that were written, in chunks of any size', () => {
    fc.assert(
      fc.property(plants, fc.integer({ min: 1, max: 50 }), (written: readonly StoredPlant[], chunkSize) => {
        const rows = parse(format, HEADERS[format] + encodePlants(written, format), chunkSize);

        expect(rows.map(({ reading }) => ({ ...reading }))).toEqual(written);
      }),
      { numRuns: 1_000 },
    );
  });

  it('tells a row that is too long from its neighbours, and keeps none of it', () => {
    const near = { id: 1n, name: 'a'.repeat(LIMIT - 100) };
    const long = { id: 2n, name: 'a,"\n'.repeat(LIMIT), tag: '"' };
    const file = Buffer.from(HEADERS[format] + encodePlants([near, long, near, long], format));

    for (const chunkSize of [1, 7, 300, 65_536]) {
      const rows = parse(format, file, chunkSize);

      expect(rows.map(({ reading }) => 'reason' in reading)).toEqual([false, true, false, true]);
      expect(rows[1]).toMatchObject({ reading: { reason: /^The row is too long: at most 1000 bytes/ } });
    }
  });

  it('may begin with a byte order mark, end lines with CRLF, and have blank lines', () => {
    const file = `\ufeff${HEADERS[format]}${encodePlants([{ id: 1n, name: 'é' }], format).trim()}\r\n\r\n\n`;

    expect(summary(parse(format, file, 1))).toEqual([[format === 'csv' ? 2 : 1, 1n, 'é', undefined]]);
  });

  it('concerns only its row where it is not UTF-8', () => {
    const good = encodePlants([{ id: 1n, name: 'é', tag: 'b' }], format);
    const bad = Buffer.from(good.replace('é', '\xe9'), 'latin1');
    const rows = parse(format, Buffer.concat([Buffer.from(HEADERS[format] + good), bad, Buffer.from(good)]));

    expect(rows.map(({ reading }) => 'reason' in reading)).toEqual([false, true, false]);
    expect(rows[1]?.reading).toMatchObject({ reason: expect.stringContaining('UTF-8') as string });
  });
});

describe('A line of NDJSON', () => {
  const pipe = new NewPlantPipe();

  /** Returns the plant or the refusal that the pipe of POST /plants makes of it. */
  function asBody(line: string): unknown {
    try {
      return Object.assign({}, pipe.transform(Buffer.from(line)));
    } catch (error) {
      return { reason: (error as Error).message };
    }
  }

  it('is read as the body of POST /plants', () => {
    const part = fc.constantFrom(
      ...['{', '}', '"', ',', ':', ' ', '\r', '\t', '\\', '\\"', '\\u0000', '\\ud83e', '\\n', '\\x', '\0', '\u001f'],
      ...['"id"', '"name"', '"tag"', '"a"', '"é"', '1', '-1', '0', '-0', '07', '1.0', '9223372036854775808', 'null'],
    );
    const value = fc.oneof({ weight: 5, arbitrary: fc.constantFrom('7', '"a"', '"\\n"', '""') }, fc.string(), part);
    const line = fc
      .tuple(value, value, value, part, fc.nat(60), fc.constantFrom('', ' '))
      .map(([id, name, tag, stray, at, space]) => {
        const text = `{"id":${space}${id},${space}"name":${name},"tag":${tag}}`;
        return at < 30 ? text : text.slice(0, at) + stray + text.slice(at);
      });
    fc.assert(
      fc.property(line, (text) => {
        expect({ ...readJson(Buffer.from(text).toString('latin1')) }).toEqual(asBody(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['{"id":1,"name":"a","colour":"green"}', [[1, 1n, 'a', undefined]]],
    ['{"name":"a","id":7.0}', [[1, 7n, 'a', undefined]]],
    ['{"id":9223372036854775807,"name":"a"}', [[1, 9223372036854775807n, 'a', undefined]]],
    [
      '{"id":9223372036854775808,"name":"a"}',
      [[1, 'id must be an integer from -9223372036854775808 to 9223372036854775807']],
    ],
    ['{"id":1,"id":1,"name":"a"}', [[1, 'The field id is given twice']]],
    ['{"id":1,"name":"a","tag":null}', [[1, 'tag must be a string without U+0000 and unpaired surrogates']]],
    [
      '[1]\n{"id":1,"name":"a"}',
      [
        [1, 'The body must be a JSON object with the fields of a NewPlant'],
        [2, 1n, 'a', undefined],
      ],
    ],
  ])('%s is read by the rules of a body', (line, expected) => {
    expect(summary(parse('ndjson', line))).toEqual(expected);
  });
});

describe('A row of CSV', () => {
  it.each<[string, string, unknown[]]>([
    ['has its columns in the order of the header', 'tag,x,id,name\nb,y,1,a', [[2, 1n, 'a', 'b']]],
    ['has no tag without a column for it', 'name,id\na,1\n', [[2, 1n, 'a', undefined]]],
    [
      'has no tag if it is empty, and an empty one if it is ""',
      'id,name,tag\n1,a,\n2,a,""\n',
      [
        [2, 1n, 'a', undefined],
        [3, 2n, 'a', ''],
      ],
    ],
    [
      'may have an empty name',
      'id,name\n1,\n2,""',
      [
        [2, 1n, '', undefined],
        [3, 2n, '', undefined],
      ],
    ],
    ['may have a header in quotation marks', '"id","name","tag"\r\n"1","a","b"\r\n', [[2, 1n, 'a', 'b']]],
    [
      'may have several lines',
      'id,name\n1,"a\nb"\n2,c\n',
      [
        [2, 1n, 'a\nb', undefined],
        [4, 2n, 'c', undefined],
      ],
    ],
    ['may have the line of PostgreSQL that ends data', 'id,name\n1,"a\n\\.\nb"\n', [[2, 1n, 'a\n\\.\nb', undefined]]],
    [
      'has as many fields as the header',
      'id,name\n1\n2,a,b\n3,a',
      [
        [2, 'The header has 2 fields, but the row 1'],
        [3, 'The header has 2 fields, but the row 3'],
        [4, 3n, 'a', undefined],
      ],
    ],
    [
      'has quotation marks around a field with one',
      'id,name\n1,5" pot\n2,a',
      [
        [2, 'A field with a quotation mark is not in quotation marks'],
        [3, 2n, 'a', undefined],
      ],
    ],
    [
      'has a comma after a closing quotation mark',
      'id,name\n1,"a"b\n2,a',
      [
        [2, 'After a closing quotation mark, a comma or the end of the line must follow'],
        [3, 2n, 'a', undefined],
      ],
    ],
    ['closes its quotation marks', 'id,name\n1,"a\n2,a', [[2, 'A quotation mark is not closed']]],
  ])('%s', (_, file, expected) => {
    for (const chunkSize of [1, 2, 3, 100]) expect(summary(parse('csv', file, chunkSize))).toEqual(expected);
  });

  it.each(['', ' 1', '1 ', '+1', '01', '1,5', '0x1', 'a', '9223372036854775808', '1.5', '1e400', 'é'])(
    'has an integer as JSON writes it, and not %j',
    (id) => {
      expect(summary(parse('csv', `name,id\n,"${id}"`))).toEqual([[2, expect.stringMatching(/^id must be/)]]);
    },
  );

  it.each([
    ['1.0', 1n],
    ['1e3', 1_000n],
    ['-0', 0n],
    ['-9223372036854775808', -(2n ** 63n)],
  ])('has the id %s', (id, value) => {
    expect(summary(parse('csv', `id,name\n${id},a`))).toEqual([[2, value, 'a', undefined]]);
  });

  it.each(['1,a,b\n', 'id,tag\n1,a', 'id,name,id\n'])('needs a header, unlike %j', (file) => {
    expect(() => parse('csv', file)).toThrow('The first line must name the columns id, name and tag');
  });
});
