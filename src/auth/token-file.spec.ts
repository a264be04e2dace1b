import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestToken } from './static-tokens.js';
import { addToken, createTokenFile, formatToken, parseInstant, parseTokens, removeTokens } from './token-file.js';

// test/commands/token.e2e-spec.ts has the rest of what changes the file.

const digest = digestToken('a');
const HEX = digest.toString('hex');

describe('The text of a token file', () => {
  it('is read as the tokens that were written', () => {
    const expires = new Date('2030-01-01T00:00:00.250Z');
    const tokens = [{ name: 'first' }, { name: '2nd', expires }].map((token) => ({ ...token, digest }));
    const lines = tokens.map(formatToken);

    expect(lines).toEqual([`first sha256:${HEX}\n`, `2nd sha256:${HEX} 2030-01-01T00:00:00.250Z\n`]);
    expect(parseTokens(`# ours\r\n\n \t# theirs\n\t${lines.join('\r\n').trimEnd()}`, 'tokens')).toEqual(tokens);
    expect(parseTokens(`ci\t sha256:${HEX.toUpperCase()}`, 'tokens')).toEqual([{ name: 'ci', digest }]);
    for (const none of ['# none\n', '', '\n']) expect(parseTokens(none, 'tokens')).toEqual([]);
  });

  it.each([
    `first ${HEX}`,
    `sha256:${HEX}`,
    `first sha512:${HEX}`,
    `first sha256:${HEX.slice(1)}`,
    `first sha256:${HEX}0`,
    `first sha256:${HEX} 2030-01-01`,
    `first sha256:${HEX} 2030-01-01T00:00:00Z 2031-01-01T00:00:00Z`,
    `first sha256:${HEX} # a comment`,
    `the first sha256:${HEX}`,
  ])('is refused with the line %j, whose number it names', (line) => {
    expect(() => parseTokens(`# ours\n\n${line}\n`, 'tokens')).toThrow(
      'tokens, line 3, is not a token: it must be a name, sha256:<64 hexadecimal digits>, ' +
        'and optionally an expiry such as 2030-01-01T00:00:00Z',
    );
  });
});

describe('A token file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const file = join(directory, 'tokens');

  afterAll(() => rmSync(directory, { recursive: true }));

  it.each(['', '\n', '# no tokens\n'])('that has no token, but the text %j, gets its first one', (text) => {
    writeFileSync(file, text, { mode: 0o600 });

    expect(createTokenFile(file, { name: 'of-a-first-start', digest })).toBe(false);
    addToken(file, { name: 'first', digest });

    expect(readFileSync(file, 'utf8')).toBe(`${text}first sha256:${HEX}\n`);
  });

  it('loses all tokens of a name, and no other line', () => {
    const expired = formatToken({ name: 'first', digest, expires: new Date(0) });
    writeFileSync(file, `${expired}First sha256:${HEX}\n\nfirst sha256:${HEX}\n`);

    removeTokens(file, 'first');

    expect(readFileSync(file, 'utf8')).toBe(`First sha256:${HEX}\n\n`);
  });

  it('with a wrong line is not changed, so that a person can look at it', () => {
    const text = `first sha256:${HEX}\nsecond a-secret\n`;
    writeFileSync(file, text);

    expect(() => removeTokens(file, 'first')).toThrow('tokens, line 2, is not a token');
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

describe('An instant', () => {
  it.each(['2030-01-01T00:00:00Z', '2028-02-29T23:59:59Z', '2030-01-01T00:00:00.001Z'])('may be %s', (text) => {
    expect(parseInstant(text)).toEqual(new Date(text));
  });

  it.each([
    '2030-01-01',
    '2030-01-01T00:00Z',
    '2030-01-01T00:00:00',
    '2030-01-01T00:00:00+00:00',
    '2030-02-30T00:00:00Z',
    '1 January 2030',
    '1893456000000',
    '',
  ])('must not be %j', (text) => expect(parseInstant(text)).toBeUndefined());
});
