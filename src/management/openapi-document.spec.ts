import { withInt64Bounds } from './openapi-document.js';

describe('withInt64Bounds', () => {
  it('has the exact bounds of each field', () => {
    const int64 = { minimum: -(2 ** 63), maximum: 2 ** 63 };

    const bounds = '{"minimum":-9223372036854775808,"maximum":9223372036854775807}';
    expect(withInt64Bounds(JSON.stringify({ id: int64, count: int64 }))).toBe(`{"id":${bounds},"count":${bounds}}`);
  });
});
