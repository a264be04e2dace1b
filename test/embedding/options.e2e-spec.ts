import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PlantsModule } from '../../src/index.js';
import { HostLog, newApplication, send } from '../support/hosts/application.js';
import { openSqliteFile } from '../support/sqlite-file.js';

const OPTIONS = { repository: 'sqlite::memory:', authentication: { tokens: ['token'] } } as const;

/** Returns how a start of the module ends. */
async function start(module: DynamicModule): Promise<string> {
  try {
    const app = await NestFactory.create(module, { logger: false, abortOnError: false });
    await app.init();
    await app.close();
    return 'started';
  } catch (error) {
    return String(error);
  }
}

/** Returns how a start with these options of a JavaScript host ends. */
function startWith(options: object): Promise<string> {
  return start(PlantsModule.forRoot({ ...OPTIONS, ...options }));
}

describe('PlantsModule', () => {
  it.each<{ what: string; options: object; words: string }>([
    { what: 'no authentication', options: { authentication: undefined }, words: 'authentication must be' },
    {
      what: 'tokens and a verifier',
      options: { authentication: { tokens: ['token'], verifier: { verify: () => undefined } } },
      words: 'authentication must be',
    },
    { what: 'no token', options: { authentication: { tokens: [] } }, words: 'authentication must be' },
    {
      what: 'a token that is no list',
      options: { authentication: { tokens: 'secret' } },
      words: 'authentication must be',
    },
    { what: 'an unset token', options: { authentication: { tokens: [undefined] } }, words: 'authentication must be' },
    { what: 'two words as a token', options: { authentication: { tokens: ['a b'] } }, words: 'authentication must be' },
    { what: 'true as authentication', options: { authentication: true }, words: 'authentication must be' },
    ...[undefined, null, 7, {}].map((verifier) => ({
      what: `${JSON.stringify(verifier)} as verifier`,
      options: { authentication: { verifier } },
      words: 'authentication must be',
    })),
    { what: 'no repository', options: { repository: undefined }, words: 'repository must be' },
    ...[NaN, 0, '256mb', '1 kb'].map((limit) => ({
      what: `${JSON.stringify(limit)} as limit of the body`,
      options: { body: { limit } },
      words: 'body.limit must be',
    })),
    { what: 'a misspelt limit of the body', options: { body: { limits: 1 } }, words: 'limits' },
    { what: 'a misspelt timeout', options: { database: { timeouts: 1 } }, words: 'timeouts' },
    ...[NaN, 0, 3_600_001, 1.5, '5s'].flatMap((limit) =>
      ['timeout', 'startTimeout'].map((name) => ({
        what: `${JSON.stringify(limit)} as ${name}`,
        options: { database: { [name]: limit } },
        words: 'database must have',
      })),
    ),
    ...['', 'a b', 'a"b', 'ä'].map((scope) => ({
      what: `${JSON.stringify(scope)} as scope`,
      options: { scope },
      words: 'scope must be',
    })),
    ...['', 'the "garden"', 'a\\', 'a\r\nSet-Cookie: a', 'Gärten\u2028'].map((realm) => ({
      what: `${JSON.stringify(realm)} as realm`,
      options: { realm },
      words: 'realm must be',
    })),
    { what: 'a text as onPlantCreated', options: { onPlantCreated: 'greet' }, words: 'onPlantCreated must be' },
    { what: 'a misspelt option', options: { scopes: 'plants:admin' }, words: 'scopes' },
  ])('does not start with $what, and names the option in one line', async ({ options, words }) => {
    expect(await startWith(options)).toMatch(new RegExp(`^TypeError: PlantsModule: .* option ${words}.*$`));
  });

  it.each([{}, { useFactory: () => undefined }, { useFactory: OPTIONS }])(
    'does not start with forRootAsync(%j)',
    async (options) => {
      const wrong = options as unknown as Parameters<typeof PlantsModule.forRootAsync>[0];

      expect(await start(PlantsModule.forRootAsync(wrong))).toMatch(/^(?:Type)?Error: /);
    },
  );

  it.each([
    { repository: 'plants.db', words: 'sqlite: and a path, or with postgres:' },
    { repository: 'sqlite:no-directory/plants.db', words: 'a directory that does not exist' },
  ])('does not start with the URL $repository, and says why', async ({ repository, words }) => {
    expect(await startWith({ repository })).toMatch(new RegExp(`^OperatorError: .*${words}[^\\n]+$`));
    expect(existsSync('no-directory')).toBe(false);
  });

  it.each([
    { scope: undefined, realm: undefined, body: undefined, database: undefined, onPlantCreated: undefined },
    { body: { limit: undefined }, database: { timeout: undefined, startTimeout: undefined } },
    { body: { limit: 1 }, database: { timeout: 1, startTimeout: 1 } },
    { body: { limit: '255mb' }, database: { timeout: 3_600_000, startTimeout: 3_600_000 } },
  ])('starts with %j', async (options) => {
    expect(await startWith(options)).toBe('started');
  });

  it('waits for a PostgreSQL server no longer than database.startTimeout, and logs once that it waits', async () => {
    const log = new HostLog();
    const began = performance.now();
    const repository = 'postgres://u:p@127.0.0.1:1/plants';

    const starting = newApplication(PlantsModule.forRoot({ ...OPTIONS, repository, database: { startTimeout: 700 } }), {
      logger: log,
    });

    await expect(starting).rejects.toThrow('connect ECONNREFUSED');
    // By default, it waits 30 s.
    expect(performance.now() - began).toBeLessThan(25_000);
    expect(log.warnings).toEqual([
      expect.stringMatching(/^The start waits for the database: .+: connect ECONNREFUSED .+$/),
    ]);
  });

  it('refuses the URL of a PostgreSQL server on another machine without sslmode', async () => {
    expect(await startWith({ repository: 'postgres://u:secret@db.example.com/plants' })).toMatch(
      /^OperatorError: a database URL must have sslmode, [^\n]+$/,
    );
  });

  it('gives up on a locked database after database.timeout', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const file = join(directory, 'plants.db');
    const app = await newApplication(
      PlantsModule.forRoot({ ...OPTIONS, repository: `sqlite:${file}`, database: { timeout: 100 } }),
    );
    await app.init();
    const other = openSqliteFile(file);
    other.exec('BEGIN IMMEDIATE');
    const began = performance.now();

    expect(await send(app)).toMatchObject({ body: { error: 503 }, retryAfter: '1' });
    // By default, it waits 5 s.
    expect(performance.now() - began).toBeLessThan(4_500);
    other.close();
    await app.close();
    rmSync(directory, { recursive: true });
  });
});
