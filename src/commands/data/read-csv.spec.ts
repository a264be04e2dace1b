import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { HOSTILE_PLANTS } from '../../../test/support/hostile-plants.js';
import type { StoredPlant } from '../../storage/plant-repository.js';
import { readCsv } from './read-csv.js';
import type { Row } from './rows.js';

interface Read {
  /** Each row as its number and its plant, or the reason why it is rejected. */
  readonly rows: unknown[];
  readonly warnings: string[];
}

function valuesOf({ id, name, tag }: StoredPlant): unknown[] {
  return tag === undefined ? [id, name] : [id, name, tag];
}

/** Returns the number of a row, as a spreadsheet shows it. */
function rowNumber({ place }: Row): number {
  return Number(/^row (\d+)$/.exec(place)?.[1]);
}

/** Reads a file that arrives in chunks of this length. */
async function read(file: string, chunkLength = 100): Promise<Read> {
  const chunks = file.match(new RegExp(`[^]{1,${chunkLength}}`, 'gu')) ?? [];
  async function* texts(): AsyncGenerator<string, void> {
    yield* Readable.from(chunks) as AsyncIterable<string>;
  }
  const [rows, warnings]: [Row[], string[]] = [[], []];
  for await (const row of readCsv(texts(), (warning) => warnings.push(warning))) rows.push(row);
  return {
    rows: rows.map((row) => ('plant' in row ? [rowNumber(row), ...valuesOf(row.plant)] : [rowNumber(row), row.reason])),
    warnings,
  };
}

describe('A row of CSV', () => {
  it.each<{ what: string; file: string; rows: unknown[] }>([
    { what: 'has its columns in the order of the header', file: 'tag,x,ID,name\nb,y,1,a\n', rows: [[2, 1n, 'a', 'b']] },
    { what: 'has no tag without a column for it', file: 'name,id\na,1\n', rows: [[2, 1n, 'a']] },
    { what: 'has no tag if it is empty', file: 'id,name,tag\n1,a,\n', rows: [[2, 1n, 'a']] },
    { what: 'has an empty tag if it is ""', file: 'id,name,tag\n1,a,""\n', rows: [[2, 1n, 'a', '']] },
    { what: 'has an empty name if it is empty', file: 'id,name\n1,\n', rows: [[2, 1n, '']] },
    { what: 'may have a header in quotation marks', file: '"id","name"\r\n"1","a"\r\n', rows: [[2, 1n, 'a']] },
    { what: 'may have CR in a text', file: 'id,name\n1,a\rb\n', rows: [[2, 1n, 'a\rb']] },
    { what: 'may have an id as pandas writes it', file: 'id,name\n7.0,a\n', rows: [[2, 7n, 'a']] },
    { what: 'keeps the blanks of a text', file: 'id,name\n1, a \n', rows: [[2, 1n, ' a ']] },
    {
      what: 'may be cut off nowhere, and have no value at all',
      file: 'id,name,tag\n,,\n\n1,a,b\n\n,,',
      rows: [[4, 1n, 'a', 'b']],
    },
    {
      what: 'may have semicolons, if the header has them',
      file: 'id;name;tag\r\n1;a,b;"c;d"\r\n2;e;\r\n',
      rows: [
        [2, 1n, 'a,b', 'c;d'],
        [3, 2n, 'e'],
      ],
    },
    { what: 'may have semicolons in texts', file: 'id,name,tag\n1,a;b,c;d;e\n', rows: [[2, 1n, 'a;b', 'c;d;e']] },
    { what: 'has the separator that the first line names', file: 'sep=;\r\nid;name\r\n1;a\r\n', rows: [[2, 1n, 'a']] },
    {
      what: 'may have several lines',
      file: 'id,name\n1,"a\r\nb"\n2,c\n',
      rows: [
        [2, 1n, 'a\r\nb'],
        [3, 2n, 'c'],
      ],
    },
    {
      what: 'has as many fields as the header',
      file: 'id,name\n1\n2,a,b\n3,a\n',
      rows: [
        [2, 'The header has 2 fields, but the row has 1.'],
        [3, 'The header has 2 fields, but the row has 3.'],
        [4, 3n, 'a'],
      ],
    },
  ])('$what', async ({ file, rows }) => {
    for (const length of [1, 2, 100]) expect((await read(file, length)).rows).toEqual(rows);
  });

  it.each([
    {
      ids: ['', '01', 'a', '+1', ' 1', '1 ', '9223372036854775808', '1.5', '7.000'],
      reason: /^id must be an integer[^:]+$/,
    },
    { ids: ['9007199254740992.0'], reason: /^id must be an integer .*: send its digits alone/ },
    { ids: ['9.0072E+15', '9,0072E+15', '1e3', '-4E5'], reason: /^The id \S+ was rounded by a spreadsheet: / },
  ])('is rejected for an id such as $ids.0', async ({ ids, reason }) => {
    for (const id of ids) {
      const { rows } = await read(`name,id\na,"${id}"\n`);
      expect([id, rows]).toEqual([id, [[2, expect.stringMatching(reason)]]]);
    }
  });

  it('is read at the end of a file without a line break, of which one line warns', async () => {
    expect(await read('id,name\r\n1,a\r\n2,b')).toEqual({
      rows: [
        [2, 1n, 'a'],
        [3, 2n, 'b'],
      ],
      warnings: [expect.stringContaining('does not end in a line break')],
    });
    expect((await read('id,name\r\n1,a\r\n')).warnings).toEqual([]);
  });
});

describe('A file is refused', () => {
  it.each([
    { what: 'without a header', file: '1,a,b\n', complaint: 'the first line must name the columns id, name and tag' },
    {
      what: 'with the id twice',
      file: 'id,name,id\n',
      complaint: 'the first line must name the columns id, name and tag',
    },
    { what: 'that is NDJSON', file: '{"id":1}\n', complaint: 'if the file is NDJSON, pass --format ndjson' },
    { what: 'that is empty', file: '', complaint: 'the file is empty' },
    { what: 'with blanks after its commas', file: 'id, name\n1, a\n', complaint: 'without blanks beside them' },
    {
      what: 'with a wrong quotation mark',
      file: 'id,name\n1,"a\r\nb"\n2,5" pot\n3,a',
      complaint: 'row 3: its quotation',
    },
    {
      what: 'with a blank before a quotation mark',
      file: 'id,name\n1, "a"\n',
      complaint: 'row 2: its quotation marks',
    },
    {
      what: 'that is cut off in a text',
      file: 'id,name\n1,a\n2,"a\n3,a\n',
      complaint: 'row 3: a quotation mark is not',
    },
  ])('$what', async ({ file, complaint }) => {
    for (const length of [1, 100]) await expect(read(file, length)).rejects.toThrow(complaint);
  });
});

describe('The CSV of', () => {
  const readFixture = (name: string): Promise<Read> =>
    read(readFileSync(join(import.meta.dirname, 'fixtures', `${name}.csv`), 'utf8').replace(/^\ufeff/, ''));

  it.each(['excel-german', 'google-sheets', 'libreoffice', 'pandas'])('%s is read', async (name) => {
    const { rows, warnings } = await readFixture(name);

    expect(rows.map((row) => (row as unknown[]).slice(1))).toEqual([
      [1n, 'Monstera', 'indoor'],
      [2n, 'Fiddle-leaf fig, large'],
      [3n, 'Bogenhanf "Moonshine"'],
      [4n, 'Zwei\nZeilen', 'Balkon; Süd'],
      [9007199254740993n, 'Éléphant 🪴'],
    ]);
    expect(warnings).toHaveLength(name === 'google-sheets' ? 1 : 0);
  });

  it('sqlite3 -csv -header is read, with every kind of text', async () => {
    const { rows } = await readFixture('sqlite3');

    expect(rows.map((row) => (row as unknown[]).slice(1))).toEqual(HOSTILE_PLANTS.map(valuesOf));
  });
});
