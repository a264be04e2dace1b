import * as fs from 'node:fs';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';

/** Stands for what another service does after this one has looked for the file. */
let afterLook = (): void => undefined;

/** The mode of all files, on a file system that keeps none. */
let fixedMode: number | undefined;

jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  statSync: (path: string) =>
    fixedMode === undefined ? statSync(path) : Object.assign(statSync(path), { mode: fixedMode }),
  existsSync: (path: string) => {
    const exists = existsSync(path);
    afterLook();
    return exists;
  },
}));

const { parseConfiguration } = await import('../config/load-configuration.js');
const { createFirstToken } = await import('./first-token.js');

describe('The token of the first start', () => {
  let directory: string;
  let file: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'tokens');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  /** Starts with these variables, and returns what is printed. */
  function start(variables: Readonly<Record<string, string>> = {}): string | undefined {
    const configuration = parseConfiguration({ DATABASE_URL: `sqlite:${directory}/plants.db`, ...variables });
    return createFirstToken(configuration, 'https://plants.example/v1/plants');
  }

  it('is created once, and printed with the address of the service', () => {
    expect(start()).toMatch(/\ncurl -i https:\/\/plants\.example\/v1\/plants \\\n[^]+Bearer [\w-]{43}'/);
    expect(start()).toBeUndefined();
  });

  it.each([
    { ACCESS_TOKENS: 'one' },
    { ACCESS_TOKENS_FILE: '/nowhere/tokens' },
    { JWT_ISSUER: 'https://login.example.com', JWT_AUDIENCE: 'plants' },
  ])('is not created with %j', (variables) => {
    expect(start(variables)).toBeUndefined();
    expect(existsSync(file)).toBe(false);
  });

  it('is not printed by the slower of two services that start in one directory', () => {
    let faster: string | undefined;
    afterLook = () => {
      afterLook = () => undefined;
      faster = start();
    };

    expect(start()).toBeUndefined();
    expect(faster).toContain('Bearer ');
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

  it('is not created again after all tokens are revoked', () => {
    writeFileSync(file, '# no tokens\n', { mode: 0o600 });

    expect(start()).toBeUndefined();
    expect(readFileSync(file, 'utf8')).toBe('# no tokens\n');
  });
});
