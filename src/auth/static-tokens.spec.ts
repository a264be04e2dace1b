import { digestToken, generateToken, numberTokens, StaticTokens } from './static-tokens.js';

const PAST = new Date(Date.now() - 1_000);
const SOON = new Date(Date.now() + 60_000);
const LATER = new Date(Date.now() + 120_000);

const digest = digestToken('a');

describe('Static tokens', () => {
  it('have 256 random bits, their SHA-256, and names in the order of the configuration', () => {
    expect(digest.toString('hex')).toBe('ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb');
    expect(new Set(Array.from({ length: 10 }, generateToken)).size).toBe(10);
    expect(generateToken()).toMatch(/^[\w-]{43}$/);
    expect(numberTokens(['a', 'b'])).toEqual([
      { name: 'token-1', digest },
      { name: 'token-2', digest: digestToken('b') },
    ]);
  });

  it.each(['', 'A', 'aa', digest.toString('hex')])('do not know %j', (token) => {
    expect(new StaticTokens([{ name: 'ci', digest }]).verify(token)).toBeUndefined();
  });

  it('refuse an expired token with its holder, unless the same token is also there with another expiry', () => {
    const expired = { name: 'leaver', digest, expires: PAST };
    const valid = { name: 'valid', digest, expires: SOON };

    expect(new StaticTokens([expired]).verify('a')).toEqual({ refused: 'expired', detail: 'its holder is leaver' });
    for (const tokens of [
      [expired, valid],
      [valid, expired],
    ]) {
      expect(new StaticTokens(tokens).verify('a')).toEqual({ name: 'valid', scopes: 'all' });
    }
  });

  it.each([
    { expiries: [PAST, LATER, undefined, SOON], next: SOON },
    { expiries: [undefined], next: undefined },
    { expiries: [PAST], next: undefined },
  ])('tell when the next of $expiries expires: $next', ({ expiries, next }) => {
    expect(new StaticTokens(expiries.map((expires) => ({ name: 'ci', digest, expires }))).nextExpiry()).toEqual(next);
  });
});
