import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Run, spawnCommand } from '../support/command.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { PostgresServer } from '../support/postgres.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { openRepository } from '../../src/storage/open-repository.js';
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

function run(command: string, parameters: readonly string[] = [], variables?: Variables): Promise<Run> {
  return directory.run(command, parameters, { DATABASE_START_TIMEOUT: '1s', ...variables });
}

/** A path where the server may read and write. */
function serverFile(name: string): string {
  return join(dirname(server.socket), name);
}

describe('A copy from SQLite to PostgreSQL, and back to SQLite,', () => {
  it('has the same plants, 100,000 of them and every kind of text', async () => {
    await directory.store(HOSTILE_PLANTS);
    directory.fill(100_000);
    const count = 100_000 + HOSTILE_PLANTS.length;
    writeFileSync(directory.file('url'), `${url}\n`);
    const other = { OTHER_DATABASE_URL_FILE: 'url' };

    expect(await run('copy', [], other)).toEqual({
      status: 0,
      stdout: '',
      stderr: `${count} plants: ${count} copied, 0 there already; the copy is complete\n`,
    });
    expect(await run('copy', ['--json'], other)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`{"plants":${count},"created":0,"repeated":${count},`) as unknown,
    });
    expect(await run('copy', ['--to', 'sqlite:back.db'], { DATABASE_URL_FILE: 'url' })).toMatchObject({ status: 0 });
    // They are too many for toEqual.
    expect(isDeepStrictEqual(directory.rows('back.db'), directory.rows())).toBe(true);
    const digests = await Promise.all(
      [{}, { DATABASE_URL: url }, { DATABASE_URL: 'sqlite:back.db' }].map((variables) =>
        run('verify', ['--json'], variables),
      ),
    );
    expect(new Set(digests.map(({ stdout }) => stdout)).size).toBe(1);
    expect(await run('verify', [], other)).toMatchObject({ status: 0 });
  });

  it('goes on after the copy was killed or interrupted', async () => {
    await directory.store([]);
    directory.fill(100_000);
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const child = spawnCommand('copy', directory.path, ['--to', url]);
      const ended = once(child, 'close');
      await until('it has copied plants', () => hasMore(signal === 'SIGKILL'));
      child.kill(signal);
      expect(await ended).toEqual(signal === 'SIGINT' ? [130, null] : [null, 'SIGKILL']);
    }

    expect(await run('copy', ['--to', url])).toMatchObject({ status: 0 });
  });

  /** Returns whether the copy has added plants; the second one is known by its connection. */
  async function hasMore(isSecond: boolean): Promise<boolean> {
    const database = new URL(url).pathname.slice(1);
    const [tables] = await server.query("SELECT FROM pg_tables WHERE tablename = 'plants'", database);
    if (tables === undefined) return false;
    const [row] = await server.query<{ busy: boolean }>(
      `SELECT EXISTS (SELECT FROM plants) AND (NOT ${isSecond} OR EXISTS (SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND query ~ 'INSERT INTO plants ')) AS busy`,
      database,
    );
    return row?.busy === true;
  }

  it('ends with a line that says how to go on if the server goes, and then goes on', async () => {
    await directory.store([]);
    directory.fill(200_000);
    const child = spawnCommand('copy', directory.path, ['--to', url], {
      STORE_TIMEOUT: '500ms',
      DATABASE_START_TIMEOUT: '1s',
    });
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    const ended = once(child, 'close');
    await until('it has copied plants', () => hasMore(false));
    await server.kill();

    expect(await ended).toEqual([1, null]);
    expect(stderr).toMatch(/^plant-store: [^\n]+; run the same command again: it goes on where this one ended\n$/);
    await server.restart();
    expect(await run('copy', ['--to', url])).toMatchObject({ status: 0 });
  });
});

describe('An empty PostgreSQL database', () => {
  it.each<[command: string, parameters: readonly string[], status: number]>([
    ['copy', ['--to', 'sqlite:other.db'], 1],
    ['import', ['--dry-run'], 0],
  ])('stays empty after plant-store %s %j', async (command, parameters, status) => {
    expect(await run(command, parameters, { DATABASE_URL: url })).toMatchObject({ status });
    expect(
      await server.query("SELECT FROM pg_tables WHERE schemaname = 'public'", new URL(url).pathname.slice(1)),
    ).toEqual([]);
  });
});

describe('A user who may only read plants', () => {
  it('can export and verify them', async () => {
    const database = new URL(url).pathname.slice(1);
    await storeThere([{ id: 1n, name: 'Monstera' }]);
    await server.query(
      `CREATE ROLE reader_of_${database} LOGIN PASSWORD 'reader'; GRANT SELECT ON plants, plant_store_schema TO reader_of_${database}`,
      database,
    );
    const reader = new URL(url);
    [reader.username, reader.password] = [`reader_of_${database}`, 'reader'];

    expect(await run('export', [], { DATABASE_URL: reader.href })).toMatchObject({
      status: 0,
      stdout: '{"id":1,"name":"Monstera"}\n',
    });
    expect(await run('verify', [], { DATABASE_URL: reader.href })).toMatchObject({ status: 0 });
  });
});

describe.each<[command: string, parameters: readonly string[]]>([
  ['import', []],
  ['copy', ['--to', 'sqlite:other.db']],
])('plant-store %s %j', (command, parameters) => {
  it('can be interrupted while it waits for a server', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const asked = once(silent, 'connection');
    const child = spawnCommand(command, directory.path, parameters, {
      DATABASE_URL: `postgres://127.0.0.1:${port}/plants`,
      DATABASE_START_TIMEOUT: '60m',
    });
    await asked;

    child.kill('SIGINT');

    expect(await once(child, 'close')).toEqual([130, null]);
    silent.close();
  });
});

describe('CSV', () => {
  it('is read and written by COPY of PostgreSQL as the same plants', async () => {
    const database = new URL(url).pathname.slice(1);
    await storeThere(HOSTILE_PLANTS);
    await run('export', ['ours.csv', '--format', 'csv'], { DATABASE_URL: url });
    const ours = serverFile('ours.csv');
    writeFileSync(ours, readFileSync(directory.file('ours.csv')));
    chmodSync(ours, 0o644);
    await server.query(
      `CREATE TABLE copied (LIKE plants);
       COPY copied FROM '${ours}' WITH (FORMAT csv, HEADER);
       COPY copied TO '${serverFile('theirs.csv')}' WITH (FORMAT csv, HEADER)`,
      database,
    );

    expect(
      await server.query('(TABLE plants EXCEPT TABLE copied) UNION ALL (TABLE copied EXCEPT TABLE plants)', database),
    ).toEqual([]);
    expect(statSync(serverFile('theirs.csv')).size).toBeGreaterThan(1_000);
    expect(await run('import', [serverFile('theirs.csv'), '--format', 'csv'])).toMatchObject({ status: 0 });
    expect(await run('verify', ['--against', url])).toMatchObject({ status: 0 });
  });
});
