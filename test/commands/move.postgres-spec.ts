import { chmodSync, copyFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Run } from '../support/command.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { PostgresServer } from '../support/postgres.js';
import { nameOf } from '../support/postgres-history.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { openRepository } from '../../src/storage/engines.js';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { until } from '../support/until.js';

let server: PostgresServer;
let url: string;
const directory = ServiceDirectory.ofEachTest();

beforeAll(async () => {
  server = await PostgresServer.start();
});

afterAll(() => server.remove());

beforeEach(async () => {
  url = await server.createDatabase();
});

/** Stores plants in the PostgreSQL database. */
async function storeThere(plants: readonly StoredPlant[]): Promise<void> {
  const repository = await openRepository(url);
  await repository.add(plants);
  await repository.close();
}

function query<Row extends object>(text: string): Promise<Row[]> {
  return server.query(text, nameOf(url));
}

function run(command: string, parameters: readonly string[] = [], variables?: Variables): Promise<Run> {
  return directory.run(command, parameters, { DATABASE_START_TIMEOUT: '1s', ...variables });
}

describe('A copy from SQLite to PostgreSQL, and back to SQLite,', () => {
  it('has the same plants, 100,000 of them and every kind of text', async () => {
    await directory.store(HOSTILE_PLANTS);
    directory.fill(100_000);
    const count = 100_000 + HOSTILE_PLANTS.length;
    directory.write('url', `${url}\n`);
    const other = { OTHER_DATABASE_URL_FILE: 'url' };

    expect(await run('copy', [], other)).toEqual({
      status: 0,
      stdout: '',
      stderr: `${count} plants: ${count} copied, 0 there already; the copy is complete\n`,
    });
    expect(await run('copy', ['--to', 'sqlite:back.db'], { DATABASE_URL_FILE: 'url' })).toMatchObject({ status: 0 });
    // They are too many for toEqual.
    expect(isDeepStrictEqual(directory.rows('back.db'), directory.rows())).toBe(true);
    expect(await run('verify', [], other)).toMatchObject({ status: 0 });
  });

  it('goes on after it was interrupted or killed, or the server was', async () => {
    const both = [{ id: 1n, name: 'Monstera' }];
    await storeThere(both);
    await directory.store(both);
    directory.fill(200_000);
    const plantsThere = async (): Promise<number> => {
      const [row] = await query<{ count: number }>('SELECT count(*)::int FROM plants');
      return row?.count ?? 0;
    };
    /** Ends a copy when it has added plants, and returns its exit status and its words. */
    const end = async (by: NodeJS.Signals | 'server'): Promise<unknown[]> => {
      const before = await plantsThere();
      const copy = directory.command('copy', ['--to', url], { STORE_TIMEOUT: '500ms' });
      await until('it has copied plants', async () => (await plantsThere()) > before);
      if (by === 'server') await server.kill();
      else copy.signal(by);
      return [await copy.ended, copy.stderr];
    };

    expect(await end('SIGINT')).toEqual([130, '']);
    expect(await end('SIGKILL')).toEqual([null, '']);
    expect(await end('server')).toEqual([
      1,
      expect.stringMatching(/^plant-store: .+; run the same command again: it goes on where this one ended\n$/),
    ]);
    await server.restart();

    expect(await run('copy', ['--to', url])).toMatchObject({ status: 0 });
    expect(await run('verify', ['--against', url])).toMatchObject({ status: 0 });
  });
});

describe('An empty PostgreSQL database', () => {
  it.each([
    { command: 'copy', parameters: ['--to', 'sqlite:other.db'], status: 1 },
    { command: 'import', parameters: ['--dry-run'], status: 0 },
  ])('stays empty after plant-store $command', async ({ command, parameters, status }) => {
    expect(await run(command, parameters, { DATABASE_URL: url })).toMatchObject({ status });
    expect(await query("SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  });
});

describe('A user who may only read plants', () => {
  it('can export and verify them', async () => {
    await storeThere([{ id: 1n, name: 'Monstera' }]);
    await query("CREATE ROLE reader LOGIN PASSWORD 'reader'; GRANT SELECT ON plants, plant_store_schema TO reader");
    const reader = new URL(url);
    [reader.username, reader.password] = ['reader', 'reader'];

    expect(await run('export', [], { DATABASE_URL: reader.href })).toMatchObject({
      status: 0,
      stdout: '{"id":1,"name":"Monstera"}\n',
    });
    expect(await run('verify', [], { DATABASE_URL: reader.href })).toMatchObject({ status: 0 });
  });
});

describe('CSV', () => {
  it('is read and written by COPY of PostgreSQL as the same plants', async () => {
    await storeThere(HOSTILE_PLANTS);
    await run('export', ['ours.csv', '--format', 'csv'], { DATABASE_URL: url });
    // The server may read and write beside its socket.
    const [ours, theirs] = [join(dirname(server.socket), 'ours.csv'), join(dirname(server.socket), 'theirs.csv')];
    copyFileSync(directory.file('ours.csv'), ours);
    chmodSync(ours, 0o644);
    await query(
      `CREATE TABLE copied (LIKE plants);
       COPY copied FROM '${ours}' WITH (FORMAT csv, HEADER);
       COPY copied TO '${theirs}' WITH (FORMAT csv, HEADER)`,
    );

    expect(await query('(TABLE plants EXCEPT TABLE copied) UNION ALL (TABLE copied EXCEPT TABLE plants)')).toEqual([]);
    expect(statSync(theirs).size).toBeGreaterThan(1_000);
    expect(await run('import', [theirs, '--format', 'csv'])).toMatchObject({ status: 0 });
    expect(await run('verify', ['--against', url])).toMatchObject({ status: 0 });
  });
});
