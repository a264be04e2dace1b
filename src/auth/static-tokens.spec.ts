import { digestToken, generateToken, numberTokens, StaticTokens } from './static-tokens.js';

const PAST = new Date(Date.now() - 1_000);
const SOON = new Date(Date.now() + 60_000);
const LATER = new Date(Date.now() + 120_000);

describe('Static tokens', () => {
  it('have the SHA-256 of a token, 256 random bits, and names in the order of the configuration', () => {
    expect(digestToken('a').toString('hex')).toBe('ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb');
    expect(new Set(Array.from({ length: 10 }, generateToken)).size).toBe(10);
    expect(generateToken()).toMatch(/^[\w-]{43}$/);
    expect(numberTokens(['a', 'b'])).toEqual([
      { name: 'token-1', digest: digestToken('a') },
      { name: 'token-2', digest: digestToken('b') },
    ]);
  });

  it('know the token, the one of two that is valid, and no other one', () => {
    const digest = digestToken('a');
    const over = { name: 'over', digest, expires: PAST };
    const valid = { name: 'valid', digest, expires: SOON };
    const other = { name: 'other', digest: digestToken('b') };

    for (const tokens of [
      [over, valid, other],
      [valid, over, other],
    ]) {
      expect(new StaticTokens(tokens).verify('a')).toEqual({ name: 'valid', scopes: 'all' });
    }
    for (const token of ['', 'A', 'aa', digest.toString('hex')]) {
      expect(new StaticTokens([valid, other]).verify(token)).toBeUndefined();
    }
    expect(new StaticTokens([over, other]).count).toBe(2);
  });

  it('refuse an expired one with the name of its holder', () => {
    const expired = new StaticTokens([{ name: 'leaver', digest: digestToken('a'), expires: PAST }]);

    expect(expired.verify('a')).toEqual({ refused: 'expired', name: 'leaver' });
  });

  it('tell when the next one expires, without those that have expired', () => {
    const tokens = [PAST, LATER, undefined, SOON].map((expires, index) => ({
      name: `${index}`,
      digest: digestToken(`${index}`),
      expires,
    }));

    expect(new StaticTokens(tokens).nextExpiry()).toEqual(SOON);
    expect(new StaticTokens(tokens.slice(2, 3)).nextExpiry()).toBeUndefined();
    expect(new StaticTokens(tokens.slice(0, 1)).nextExpiry()).toBeUndefined();
  });
});
