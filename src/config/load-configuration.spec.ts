import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from './configuration.js';
import { findRemovedSettings, loadConfiguration, parseConfiguration, VARIABLES } from './load-configuration.js';

type Variables = Readonly<Record<string, string>>;

const before = process.cwd();
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  process.chdir(directory);
});

afterEach(() => {
  process.chdir(before);
  rmSync(directory, { recursive: true });
});

/** Writes a file into the working directory with exactly this mode. */
function write(name: string, text: string, mode = 0o600): void {
  writeFileSync(name, text);
  chmodSync(name, mode);
}

/** Calls a function while the environment has these variables. */
function within<Result>(variables: Variables, call: () => Result): Result {
  Object.assign(process.env, variables);
  try {
    return call();
  } finally {
    for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name);
  }
}

function load(variables: Variables = {}): Configuration {
  return within(variables, loadConfiguration);
}

describe('The environment', () => {
  it('is completed by .env, which may begin with a byte order mark, and have comments and blank lines', () => {
    write('.env', '\uFEFFBASE_PATH=/from-the-file\r\n   \n# for the tests\nACCESS_TOKENS="one"');

    expect(load({ PORT: '80' })).toMatchObject({ basePath: '/from-the-file', accessTokens: ['one'], port: 80 });
  });

  it('overrides .env, but not with an empty variable', () => {
    write('.env', 'BASE_PATH=/from-the-file\nPORT=80\n');

    expect(load({ BASE_PATH: '/from-the-environment', PORT: '' })).toMatchObject({
      basePath: '/from-the-environment',
      port: 80,
    });
  });

  it('does not decide between both forms of a variable', () => {
    expect(() => load({ DATABASE_URL: 'sqlite:plants.db', DATABASE_URL_FILE: 'url' })).toThrow(
      'DATABASE_URL and DATABASE_URL_FILE exclude each other: set one of them',
    );
  });

  it('overrides both forms of a variable in .env by either', () => {
    write('url', 'sqlite:of-the-file.db', 0o600);
    write('.env', 'DATABASE_URL_FILE=url');
    expect(load({ DATABASE_URL: 'sqlite:other.db' }).databaseUrl.name).toBe('sqlite:other.db');

    write('.env', 'DATABASE_URL=sqlite:other.db');
    expect(load({ DATABASE_URL_FILE: 'url' }).databaseUrl.name).toBe('sqlite:of-the-file.db');
  });

  it('may have empty variables, which count as unset', () => {
    expect(load(Object.fromEntries(VARIABLES.map((name) => [name, ''])))).toEqual(parseConfiguration({}));
  });

  it('already has the file of node --env-file, which .env does not complete', () => {
    write('.env', 'BASE_PATH=/from-the-directory');
    process.execArgv.push('--env-file=environment');
    try {
      expect(load().basePath).toBe('');
    } finally {
      process.execArgv.pop();
    }
  });
});

describe('DATABASE_URL_FILE', () => {
  it.each<[what: string, variables: Variables, complaint: RegExp]>([
    [
      'lets other users read its file',
      { DATABASE_URL_FILE: 'open' },
      /^DATABASE_URL_FILE: open can .*: chmod 600 open$/,
    ],
    [
      'names no file',
      { DATABASE_URL_FILE: 'none' },
      /^DATABASE_URL_FILE: there is no file none: name one that exists$/,
    ],
    ['names an empty file', { DATABASE_URL_FILE: 'empty' }, /^DATABASE_URL must be a URL /],
    ['names a file with another text', { DATABASE_URL_FILE: 'url' }, /^DATABASE_URL must be a URL .* for example \S+/],
  ])('that %s is refused, without its text', (_what, variables, complaint) => {
    write('url', 'mysql://user:secret@localhost/plants\n');
    write('empty', '\n');
    write('open', 'sqlite:plants.db', 0o644);

    expect(() => load(variables)).toThrow(complaint);
    expect(() => load(variables)).not.toThrow('secret');
  });
});

describe('A setting of an older version', () => {
  it('is told with what to do instead', () => {
    write('.env', 'MANAGEMENT_ALLOWED_HOSTS=plants\n');

    expect(within({ WORKERS: '4', DATABASE_POOL_SIZE: '' }, findRemovedSettings)).toEqual([
      'MANAGEMENT_ALLOWED_HOSTS has no effect any more: the management listener answers every Host',
      expect.stringMatching(/^WORKERS has no effect any more: start several instances, /),
    ]);
  });
});
