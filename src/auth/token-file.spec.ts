import { parseInstant } from './token-file.js';

describe('parseInstant', () => {
  it.each(['2028-02-29T23:59:59Z', '2028-02-29T23:59:59.500Z', '9999-12-31T23:59:59Z'])('reads %s', (text) => {
    expect(parseInstant(text)).toEqual(new Date(text));
  });

  it.each(['2030-02-30T00:00:00Z', '2030-01-01T00:00:00+01:00', '2030-01-01T00:00:00', '2030-01-01', 'tomorrow'])(
    'refuses %p',
    (text) => {
      expect(parseInstant(text)).toBeUndefined();
    },
  );
});
