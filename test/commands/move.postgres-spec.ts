import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { MAIN, type Run } from '../support/command.js';
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

/** Moves all plants as the guide says, through a pipe. */
function move(from: Variables, to: Variables): SpawnSyncReturns<string> {
  const assignments = (variables: Variables): string =>
    Object.entries(variables)
      .map(([name, value]) => `${name}='${value}'`)
      .join(' ');
  const program = `'${process.execPath}' '${MAIN}'`;
  const command = `${assignments(from)} ${program} export | ${assignments(to)} ${program} import -`;
  return spawnSync('sh', ['-c', command], { cwd: directory.path, env: { PATH: process.env.PATH }, encoding: 'utf8' });
}

describe('A move from SQLite to PostgreSQL, and back to SQLite,', () => {
  it('has the same plants, 20,000 of them and every kind of text', async () => {
    await directory.store(HOSTILE_PLANTS);
    directory.fill(20_000);
    directory.write('url', `${url}\n`);
    const [there, back] = [{ DATABASE_URL_FILE: 'url' }, { DATABASE_URL: 'sqlite:back.db' }];
    const digest = await run('verify');

    expect(move({}, there)).toMatchObject({ status: 0 });
    expect(await run('verify', [], there)).toEqual(digest);
    expect(move(there, back)).toMatchObject({ status: 0 });
    expect(await run('verify', [], back)).toEqual(digest);
    // They are too many for toEqual.
    expect(isDeepStrictEqual(directory.rows('back.db'), directory.rows())).toBe(true);
  });

  it('goes on after the import was interrupted or killed, or the server was', async () => {
    const both = [{ id: 1n, name: 'Monstera' }];
    await storeThere(both);
    await directory.store(both);
    directory.fill(60_000);
    await run('export', ['plants.ndjson']);
    const lines = readFileSync(directory.file('plants.ndjson'), 'utf8').split(/^/m);
    const plantsThere = async (): Promise<number> => {
      const [row] = await query<{ count: number }>('SELECT count(*)::int FROM plants');
      return row?.count ?? 0;
    };
    let begun = 0;
    /** Ends an import that has added plants and waits for more lines, and returns its exit status. */
    const end = async (by: NodeJS.Signals | 'server'): Promise<number | null> => {
      // A killed import may have left a statement that the server still executes.
      const others = "SELECT FROM pg_stat_activity WHERE application_name = 'plant-store'";
      await until('no other import adds plants', async () => (await query(others)).length === 0);
      const before = await plantsThere();
      begun += 15_000;
      const running = directory.command('import', ['-'], { DATABASE_URL: url, STORE_TIMEOUT: '500ms' });
      running.child.stdin.on('error', () => undefined).write(lines.slice(0, begun).join(''));
      await until('it has added plants', async () => (await plantsThere()) > before);
      if (by === 'server') {
        await server.kill();
        running.child.stdin.end(lines.slice(begun).join(''));
      } else running.signal(by);
      return running.ended;
    };

    expect(await end('SIGINT')).toBe(130);
    expect(await end('SIGKILL')).toBeNull();
    expect(await end('server')).toBe(1);
    await server.restart();

    expect(await run('import', ['plants.ndjson'], { DATABASE_URL: url })).toMatchObject({ status: 0 });
    expect(await run('verify', [], { DATABASE_URL: url })).toEqual(await run('verify'));
  });
});

describe('An import into PostgreSQL', () => {
  it('ends when its plants are stored, however long a batch might have waited', async () => {
    const variables = { DATABASE_URL: url, STORE_TIMEOUT: '60m' };

    expect(await directory.run('import', ['-'], variables, '{"id":1,"name":"Monstera"}\n')).toMatchObject({
      status: 0,
    });
  });
});

describe('An empty PostgreSQL database', () => {
  it.each([
    { command: 'export', status: 1 },
    { command: 'verify', status: 1 },
    { command: 'check', status: 0 },
  ])('stays empty after plant-store $command', async ({ command, status }) => {
    expect(await run(command, [], { DATABASE_URL: url })).toMatchObject({ status });
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
    await run('export', ['ours.csv'], { DATABASE_URL: url });
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
    expect(await run('import', [theirs], { DATABASE_URL: 'sqlite:theirs.db' })).toMatchObject({ status: 0 });
    expect(await run('verify', [], { DATABASE_URL: 'sqlite:theirs.db' })).toEqual(
      await run('verify', [], { DATABASE_URL: url }),
    );
  });
});
