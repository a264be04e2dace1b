import { parseBodyLimit } from './body-limit.js';

describe('A limit of bodies', () => {
  it.each([
    ['1', 1],
    ['1b', 1],
    ['1.9', 1],
    ['1kb', 1_024],
    ['1.5KB', 1_536],
    ['1mb', 1_048_576],
    ['256mb', 268_435_456],
    ['262144kb', 268_435_456],
  ])('may be %s', (text, bytes) => expect(parseBodyLimit(text)).toBe(bytes));

  it.each(['', '0', '0.9b', '-1', '1e3', '1 kb', '1gb', '.5mb', '1.mb', '257mb', '268435457', 'NaN', 'Infinity'])(
    'must not be %j',
    (text) => expect(parseBodyLimit(text)).toBeUndefined(),
  );
});
