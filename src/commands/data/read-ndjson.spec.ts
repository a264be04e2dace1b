import { Readable } from 'node:stream';
import { readNdjson } from './read-ndjson.js';
import type { Row } from './rows.js';

/** Reads a file that arrives in these chunks. */
async function read(...texts: string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of readNdjson(Readable.from(texts))) rows.push(row);
  return rows;
}

describe('A line of NDJSON', () => {
  it('ends at LF alone', async () => {
    const name = 'a\u2028b\u0085c';

    expect(await read(`{"id":1,\r"na`, `me":"${name}"}\n{"id":2,"name":"d"}`)).toEqual([
      { place: 'line 1', plant: { id: 1n, name } },
      { place: 'line 2', plant: { id: 2n, name: 'd' } },
    ]);
  });

  it('is rejected alone, by the rules of POST /plants', async () => {
    const rows = await read(
      '\n{"id":1,"name":"a"}\nb,2\n{"id":3,"name":"c","tag":null}\n{"id":9007199254740993,"name":""}',
    );

    expect(rows).toEqual([
      { place: 'line 2', plant: { id: 1n, name: 'a' } },
      { place: 'line 3', reason: expect.stringMatching(/^The row is not JSON/) as unknown },
      { place: 'line 4', reason: expect.stringMatching(/^tag must be .+: leave it out if there is none/) as unknown },
      { place: 'line 5', plant: { id: 9_007_199_254_740_993n, name: '' } },
    ]);
  });
});

describe('A file is refused as a whole if it is', () => {
  it.each([
    { what: 'a JSON array', file: '[{"id":1,"name":"a"}]', advice: "convert it with jq -c '.[]'" },
    { what: 'a pretty-printed array', file: '\n[\n  {\n    "id": 1\n  }\n]', advice: "convert it with jq -c '.[]'" },
    { what: 'a pretty-printed object', file: '{\r\n  "id": 1\r\n}', advice: 'convert it with jq -c .' },
    { what: 'CSV', file: 'id,name\n1,a\n', advice: 'pass --format csv' },
    { what: 'CSV with semicolons', file: 'id;name\n1;a\n', advice: 'pass --format csv' },
  ])('$what', async ({ file, advice }) => {
    await expect(read(file)).rejects.toThrow(advice);
  });
});
