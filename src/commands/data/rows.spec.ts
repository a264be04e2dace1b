import { constants } from 'node:buffer';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { anyPlant } from '../../../test/support/any-plant.js';
import { RUNS } from '../../../test/support/runs.js';
import type { StoredPlant } from '../../storage/plant-repository.js';
import { CsvReader } from './csv.js';
import { encodePlants, type Format, FORMATS, HEADERS } from './formats.js';
import { NdjsonReader } from './ndjson.js';
import type { Row } from './rows.js';

const LIMIT = 1_000;

/** Reads a file that arrives in chunks of this size, and adds its rows to an array. */
async function read(format: Format, file: string | Buffer, chunkSize = 65_536, rows: Row[] = []): Promise<Row[]> {
  const bytes = Buffer.from(file);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkSize) chunks.push(bytes.subarray(at, at + chunkSize));
  const reader = format === 'csv' ? new CsvReader(LIMIT) : new NdjsonReader(LIMIT);
  for await (const batch of reader.rows(Readable.from(chunks))) rows.push(...batch);
  return rows;
}

/** Returns each row as its line and its plant, or the beginning of its reason. */
function summary(rows: readonly Row[]): unknown[] {
  return rows.map((row) =>
    row.kind === 'rejected'
      ? [row.line, row.reason.split(/[:;.]/)[0]]
      : [row.line, row.plant.id, row.plant.name, row.plant.tag],
  );
}

function plantOf(row: Row): StoredPlant | undefined {
  return row.kind === 'plant' ? row.plant : undefined;
}

function reasonOf(row: Row | undefined): string | undefined {
  return row?.kind === 'rejected' ? row.reason : undefined;
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
  const firstLine = format === 'csv' ? 2 : 1;

  it('is read as the plants that were written, in chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(plants, fc.integer({ min: 1, max: 50 }), async (written: readonly StoredPlant[], chunkSize) => {
        const rows = await read(format, HEADERS[format] + encodePlants(written, format), chunkSize);

        expect(rows.map((row) => ({ ...plantOf(row) }))).toEqual(written);
      }),
      { numRuns: 300 * RUNS },
    );
  });

  it('rejects a row that is too long, and reads its neighbours', async () => {
    const near = { id: 1n, name: 'a'.repeat(LIMIT - 100) };
    const long = { id: 2n, name: 'a,"\n'.repeat(LIMIT), tag: '"' };
    const file = HEADERS[format] + encodePlants([near, long, near, long], format);

    for (const chunkSize of [1, 300, 65_536]) {
      const rows = await read(format, file, chunkSize);

      expect(rows.map(({ kind }) => kind)).toEqual(['plant', 'rejected', 'plant', 'rejected']);
      expect(reasonOf(rows[1])).toMatch(/^The row is too long: at most 1000 bytes/);
    }
  });

  it('may begin with a byte order mark, end lines with CRLF, and have blank lines', async () => {
    const file = `\ufeff${HEADERS[format]}${encodePlants([{ id: 1n, name: 'é' }], format).trim()}\r\n\r\n\n`;

    expect(summary(await read(format, file, 3))).toEqual([[firstLine, 1n, 'é', undefined]]);
  });

  it('is refused only in the row that is not UTF-8', async () => {
    const good = encodePlants([{ id: 1n, name: 'é', tag: 'b' }], format);
    const bad = Buffer.from(good.replace('é', '\xe9'), 'latin1');
    const rows = await read(format, Buffer.concat([Buffer.from(HEADERS[format] + good), bad, Buffer.from(good)]));

    expect(rows.map(({ kind }) => kind)).toEqual(['plant', 'rejected', 'plant']);
    expect(reasonOf(rows[1])).toContain('UTF-8');
  });
});

describe('A line of NDJSON', () => {
  it('ends at LF alone', async () => {
    const plant = { id: 1n, name: 'a\u2028b\u0085c', tag: undefined };

    const rows = await read('ndjson', `{"id":1,\r"name":"${plant.name}"}\n`, 1);

    expect(rows.map((row) => ({ line: row.line, plant: plantOf(row) }))).toEqual([{ line: 1, plant }]);
  });

  it('that is not JSON, but has a comma, is rejected behind a row, and the next ones are read', async () => {
    const rows = await read('ndjson', '{"id":1,"name":"a"}\nb,2\n{"id":3,"name":"c"}\n');

    expect(rows.map((row) => [row.line, plantOf(row)?.id])).toEqual([
      [1, 1n],
      [2, undefined],
      [3, 3n],
    ]);
  });

  it('that is longer than any string is rejected, and the next ones are read', async () => {
    const chunk = Buffer.alloc(2 ** 24, 'a');
    const count = Math.ceil(constants.MAX_STRING_LENGTH / chunk.length) + 1;
    const file = [...Array<Buffer>(count).fill(chunk), Buffer.from('\n{"id":1,"name":"a"}\n')];
    const rows: Row[] = [];
    for await (const batch of new NdjsonReader(LIMIT).rows(Readable.from(file))) rows.push(...batch);

    expect(summary(rows)).toEqual([
      [1, 'The row is too long'],
      [2, 1n, 'a', undefined],
    ]);
  });
});

describe('A row of CSV', () => {
  it.each<{ what: string; file: string; rows: unknown[] }>([
    { what: 'has its columns in the order of the header', file: 'tag,x,id,name\nb,y,1,a\n', rows: [[2, 1n, 'a', 'b']] },
    { what: 'has no tag without a column for it', file: 'name,id\na,1\n', rows: [[2, 1n, 'a', undefined]] },
    { what: 'has no tag if it is empty', file: 'id,name,tag\n1,a,\n', rows: [[2, 1n, 'a', undefined]] },
    { what: 'has an empty tag if it is ""', file: 'id,name,tag\n1,a,""\n', rows: [[2, 1n, 'a', '']] },
    { what: 'has an empty name if it is empty', file: 'id,name\n1,\n', rows: [[2, 1n, '', undefined]] },
    {
      what: 'may have a header in quotation marks',
      file: '"id","name"\r\n"1","a"\r\n',
      rows: [[2, 1n, 'a', undefined]],
    },
    { what: 'may follow a byte order mark', file: '\ufeffid,name\n1,a\n', rows: [[2, 1n, 'a', undefined]] },
    { what: 'may precede a blank line that CR ends', file: 'id,name\n1,a\n\r', rows: [[2, 1n, 'a', undefined]] },
    { what: 'may have an id such as 1e3', file: 'id,name\n1e3,a\n', rows: [[2, 1_000n, 'a', undefined]] },
    {
      what: 'may have several lines',
      file: 'id,name\n1,"a\nb"\n2,c\n',
      rows: [
        [2, 1n, 'a\nb', undefined],
        [4, 2n, 'c', undefined],
      ],
    },
    {
      what: 'has as many fields as the header',
      file: 'id,name\n1\n2,a,b\n3,a\n',
      rows: [
        [2, 'The header has 2 fields, but the row 1'],
        [3, 'The header has 2 fields, but the row 3'],
        [4, 3n, 'a', undefined],
      ],
    },
  ])('$what', async ({ file, rows }) => {
    for (const chunkSize of [1, 2, 100]) expect(summary(await read('csv', file, chunkSize))).toEqual(rows);
  });

  it('has an integer as JSON writes it', async () => {
    for (const id of ['', ' 1', '01', 'a', '9223372036854775808', '1.5']) {
      const [row] = await read('csv', `name,id\n,"${id}"\n`);
      expect([id, reasonOf(row)]).toEqual([id, expect.stringMatching(/^id must be/)]);
    }
  });

  it.each([
    { what: 'a row', file: '1,a,b\n' },
    { what: 'a header with the id twice', file: 'id,name,id\n' },
    { what: 'a line that is too long', file: `${'id'.repeat(16 * LIMIT)},name\nid,name\n1,a\n` },
  ])('needs a header, unlike $what', async ({ file }) => {
    await expect(read('csv', file)).rejects.toThrow('The first line must name the columns id and name');
  });

  it.each([
    { what: 'has a wrong quotation mark', line: 4, file: 'id,name\n1,"a\r\nb"\n2,5" pot\n3,a' },
    { what: 'does not close a quotation mark', line: 3, file: 'id,name\n1,a\n2,"a\n3,a\n' },
    { what: 'goes on for very long', line: 3, file: `id,name\n1,a\n2,"${'a\n'.repeat(9 * LIMIT)}` },
  ])('that $what ends the file, after the rows before it', async ({ line, file }) => {
    for (const chunkSize of [1, 65_536]) {
      const rows: Row[] = [];

      await expect(read('csv', file, chunkSize, rows)).rejects.toThrow(
        `line ${line}: its quotation marks are wrong, or the row has more than 16000 bytes`,
      );
      expect(rows.map((row) => plantOf(row)?.id)).toEqual([1n]);
    }
  });
});
