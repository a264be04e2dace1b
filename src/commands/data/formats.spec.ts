import { encodePlants, formatOf, HEADERS } from './formats.js';

const PLANTS = [
  { id: 9_007_199_254_740_993n, name: 'a "b"', tag: '' },
  { id: -1n, name: 'é\r\n', tag: undefined },
];

describe('A format', () => {
  it('comes from the ending of the file, in any case, and is ndjson without an ending', () => {
    const files = ['a.csv', 'b/a.CSV', 'a.ndjson', 'csv', 'a.csv/b', 'a.', '-', '.csv'];

    expect(files.map(formatOf)).toEqual(['csv', 'csv', ...Array<string>(6).fill('ndjson')]);
  });

  it.each(['a.xlsx', 'a.csv.txt', 'a.json'])('must be named for a file with another ending: %s', (file) => {
    expect(() => formatOf(file)).toThrow(
      /^a\.\S+ ends with \.\w+, which names no format: use \.ndjson or \.csv, or pass/,
    );
  });

  it('writes exact ids, absent tags and empty ones', () => {
    expect(HEADERS.ndjson + encodePlants(PLANTS, 'ndjson')).toBe(
      '{"id":9007199254740993,"name":"a \\"b\\"","tag":""}\n{"id":-1,"name":"é\\r\\n"}\n',
    );
    expect(HEADERS.csv + encodePlants(PLANTS, 'csv')).toBe(
      'id,name,tag\r\n9007199254740993,"a ""b""",""\r\n-1,"é\r\n",\r\n',
    );
  });
});
