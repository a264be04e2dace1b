import { counted, toJson } from './report.js';

describe('A report', () => {
  it('has the singular for one alone', () => {
    expect([0, 1, 2].map((count) => counted(count, 'plant'))).toEqual(['0 plants', '1 plant', '2 plants']);
  });

  it('is JSON with exact ids, and without absent members', () => {
    const expires = new Date('2030-01-01T00:00:00Z');
    const value = { id: 2n ** 63n - 1n, file: undefined, expires, none: null, list: [{ 'a"b': true }, 1.5, ''] };

    expect(toJson(value)).toBe(
      '{"id":9223372036854775807,"expires":"2030-01-01T00:00:00.000Z","none":null,"list":[{"a\\"b":true},1.5,""]}',
    );
  });
});
