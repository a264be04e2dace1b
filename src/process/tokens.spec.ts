import * as fs from 'node:fs';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { digestToken } from '../auth/static-tokens.js';

/** The mode of all files, on a file system that keeps none. */
let fixedMode: number | undefined;

jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  statSync: (path: string) =>
    fixedMode === undefined ? statSync(path) : Object.assign(statSync(path), { mode: fixedMode }),
}));

const { formatToken } = await import('../auth/token-file.js');
const { parseConfiguration } = await import('../config/load-configuration.js');
const { createFirstToken, openTokens } = await import('./tokens.js');

type Variables = Readonly<Record<string, string>>;

const ISSUER = { JWT_ISSUER: 'https://login.example.com', JWT_AUDIENCE: 'plants' };

let directory: string;
/** The token file beside the data. */
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'tokens');
});

afterEach(() => rmSync(directory, { recursive: true }));

/** Returns the configuration of a service that keeps its plants in the directory. */
function configure(variables: Variables): ReturnType<typeof parseConfiguration> {
  return parseConfiguration({ DATABASE_URL: `sqlite:${directory}/plants.db`, ...variables });
}

describe('The tokens of a service', () => {
  it.each<{ variables: Variables; valid: readonly string[] }>([
    { variables: {}, valid: ['of-the-default'] },
    { variables: ISSUER, valid: ['of-the-default'] },
    // The token of a first start must not outlive the tokens that the operator sets in its place.
    { variables: { ACCESS_TOKENS: 'one,two' }, valid: ['one', 'two'] },
    { variables: { ACCESS_TOKENS: 'one', ...ISSUER }, valid: ['one'] },
    { variables: { ACCESS_TOKENS_FILE: 'named' }, valid: ['of-the-file'] },
    { variables: { ACCESS_TOKENS: 'one', ACCESS_TOKENS_FILE: 'named' }, valid: ['one', 'of-the-file'] },
  ])('with $variables are $valid alone', ({ variables, valid }) => {
    const named = join(directory, 'named');
    for (const [path, token] of Object.entries({ [named]: 'of-the-file', [file]: 'of-the-default' })) {
      writeFileSync(path, formatToken({ name: 'ci', digest: digestToken(token) }), { mode: 0o600 });
    }
    const tokens = openTokens(
      configure('ACCESS_TOKENS_FILE' in variables ? { ...variables, ACCESS_TOKENS_FILE: named } : variables),
    );

    const all = ['one', 'two', 'of-the-file', 'of-the-default'];
    expect(all.filter((token) => tokens.verify(token) !== undefined)).toEqual(valid);
    expect(tokens.count).toBe(valid.length);
  });
});

describe('The token of the first start', () => {
  const start = (variables: Variables = {}): string | undefined =>
    createFirstToken(configure(variables), 'https://plants.example/v1/plants');

  it.each<Variables>([{ ACCESS_TOKENS: 'one' }, { ACCESS_TOKENS_FILE: '/nowhere/tokens' }, ISSUER])(
    'is not created with %j',
    (variables) => {
      expect(start(variables)).toBeUndefined();
      expect(existsSync(file)).toBe(false);
    },
  );

  it('is not created again after all tokens are revoked', () => {
    writeFileSync(file, '# no tokens\n', { mode: 0o600 });

    expect(start()).toBeUndefined();
    expect(readFileSync(file, 'utf8')).toBe('# no tokens\n');
  });

  it('is not shown where the file system keeps no modes, because it would be refused, and leaves no file', () => {
    fixedMode = 0o100777;
    try {
      expect(start).toThrow(
        /^\S+\/tokens would not be private, because its file system keeps no modes, .+: set ACCESS_/,
      );
    } finally {
      fixedMode = undefined;
    }
    expect(existsSync(file)).toBe(false);
  });
});
