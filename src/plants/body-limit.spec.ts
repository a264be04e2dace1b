import { parseBodyLimit } from './body-limit.js';

describe('A limit of bodies', () => {
  it.each([
    ['1', 1],
    ['1b', 1],
    ['1.9', 1],
    ['1kb', 1_024],
    ['1.5KB', 1_536],
    ['1mb', 1_048_576],
    ['255mb', 267_386_880],
    ['261120kb', 267_386_880],
  ])('may be %s', (text, bytes) => expect(parseBodyLimit(text)).toBe(bytes));

  it.each(['', '0', '0.9b', '-1', '1e3', '1 kb', '1gb', '.5mb', '1.mb', '256mb', '267386881', 'NaN', 'Infinity'])(
    'must not be %j',
    (text) => expect(parseBodyLimit(text)).toBeUndefined(),
  );
});
