import { isBearerToken, isScope } from './token-verifier.js';

/** All characters of ASCII, and some beyond it. */
const CHARACTERS = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)).concat('\u0080', 'é', '\u2028');

/** Returns the characters that pass a test between two letters. */
function allowed(test: (text: string) => boolean): string {
  return CHARACTERS.filter((character) => test(`a${character}a`)).join('');
}

describe('The grammar of', () => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

  it('a scope is one word without quotation marks and backslashes (RFC 6749 §3.3)', () => {
    const others = `!#$%&'()*+,-./0123456789:;<=>?@${letters}[]^_\``;
    expect(allowed(isScope)).toBe(`${others}${letters.toLowerCase()}{|}~`);
    expect(isScope('')).toBe(false);
  });

  it('a token has letters, digits and -._~+/, and may end with = (RFC 6750 §2.1)', () => {
    expect(allowed(isBearerToken)).toBe(`+-./0123456789${letters}_${letters.toLowerCase()}~`);
    expect(['a=', 'a==', 'a=a', '=', ''].map(isBearerToken)).toEqual([true, true, false, false, false]);
  });
});
