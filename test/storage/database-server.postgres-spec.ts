import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { CREATED, create, UNAVAILABLE } from '../support/creation.js';
import { type Fault, FaultProxy } from '../support/fault-proxy.js';
import { contentOf, type Store, violationsIn } from '../support/history.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { TOKEN } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { Workload } from '../support/workload.js';

let directory: string;
let server: PostgresServer;
let proxy: FaultProxy;
let database: string;
let processes: ServiceProcess[];

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  processes = [];
  database = await server.createDatabase();
  proxy = await FaultProxy.start(server.socket);
});

afterEach(async () => {
  await Promise.all(processes.map((service) => service.stop('SIGKILL')));
  proxy.close();
  rmSync(directory, { recursive: true });
});

afterAll(() => server.remove());

function launch(url: string, variables: Record<string, string> = {}): ServiceProcess {
  const service = new ServiceProcess(directory, { ACCESS_TOKENS: TOKEN, DATABASE_URL: url, ...variables });
  processes.push(service);
  return service;
}

async function stored(from = server): Promise<Store> {
  const name = new URL(database).pathname.slice(1);
  const rows = await from.query<{ id: string; name: string; tag: string | null }>('SELECT * FROM plants', name);
  return new Map(rows.map((row) => [BigInt(row.id), contentOf(row)]));
}

/** Clients on these services in turn, until `faults` is over and as many operations again were answered. */
async function history(urls: readonly string[], faults: (workload: Workload) => Promise<void>): Promise<Workload> {
  let turn = 0;
  const workload = new Workload(() => urls[(turn += 1) % urls.length] ?? '', { token: TOKEN, clients: 32, seed: 4 });
  try {
    await operations(workload, 200);
    await faults(workload);
    await operations(workload, 200);
  } finally {
    await workload.stop();
  }
  return workload;
}

/** Resolves when so many more plants were acknowledged. */
async function operations(workload: Workload, count: number): Promise<void> {
  const acknowledged = (): number => workload.history.filter(({ outcome }) => outcome === 'ok').length;
  const enough = acknowledged() + count;
  while (acknowledged() < enough) await new Promise((resolve) => setTimeout(resolve, 5));
}

function report(workload: Workload, what: string): void {
  const counts = { ok: 0, refused: 0, unknown: 0 };
  for (const { outcome } of workload.history) counts[outcome] += 1;
  console.info(`${what}: ${workload.history.length} operations`, counts);
}

describe.each([2, 5])('%d processes that start together on an empty database', (count) => {
  it('all come up, and tell everybody the truth, whatever they contend for', async () => {
    const services = Array.from({ length: count }, () => launch(database));
    const urls = await Promise.all(services.map((service) => service.listening()));

    const workload = await history(urls, () => Promise.resolve());

    report(workload, `${count} processes`);
    expect(violationsIn(workload.history, await stored())).toEqual([]);
    expect([...workload.errors.keys()]).toEqual([409]);
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual(services.map(() => 0));
  });
});

describe('a statement that fails for what may pass', () => {
  it.each([
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
    ['too many connections', '53300'],
    ['a standby after a failover', '25006'],
    ['a server that shuts down', '57P01'],
    ['a failure of the connection, or of PgBouncer', '08P01'],
  ])('%s (%s) is tried again, and the client never knows', async (_what, sqlState) => {
    const url = await launch(proxy.url(database)).listening();
    proxy.fault = { sqlState, times: 3 };

    expect(await create(url, 1)).toEqual(CREATED);
    expect(proxy.hits).toBe(3);
  });

  it('is told with 503 when it does not pass', async () => {
    const url = await launch(proxy.url(database), { STORE_TIMEOUT: '300ms' }).listening();
    proxy.fault = { sqlState: '40001', times: Infinity };

    expect(await create(url, 1)).toEqual(UNAVAILABLE);
    proxy.fault = 'none';
    expect(await create(url, 1)).toEqual(CREATED);
  });

  it('is told with 500 where trying again would not help, such as a function that an engine lacks (42883)', async () => {
    const url = await launch(proxy.url(database)).listening();
    proxy.fault = { sqlState: '42883', times: 1 };

    expect(await create(url, 1)).toMatchObject({ error: 500 });
    expect(await create(url, 1)).toEqual(CREATED);
  });
});

describe('an id that somebody else is about to take', () => {
  it('keeps nobody waiting but those who want it, too', async () => {
    const service = launch(database, { STORE_TIMEOUT: '60s' });
    const url = await service.listening();
    expect(await create(url, 1)).toEqual(CREATED);
    const other = new pg.Client({ connectionString: database });
    await other.connect();
    try {
      await other.query("BEGIN; INSERT INTO plants (id, name) VALUES (2, 'Monstera')");
      const waiting = create(url, 2);
      while ((await other.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).rowCount === 0);

      expect(await Promise.race([create(url, 3), waiting])).toEqual(CREATED);
      const names = await server.query<{ id: string }>('SELECT id FROM plants', new URL(database).pathname.slice(1));
      expect(names.map(({ id }) => id)).toEqual(['1', '3']);

      await other.query('COMMIT');
      expect(await waiting).toEqual(CREATED);
    } finally {
      await other.end();
    }
  });
});

describe('a connection', () => {
  it('that is cut after the commit and before the answer costs nobody anything', async () => {
    const url = await launch(proxy.url(database)).listening();

    const workload = await history([url], async (running) => {
      for (let cuts = 1; cuts <= 10; cuts += 1) {
        proxy.fault = 'cut';
        while (proxy.hits < cuts) await new Promise((resolve) => setTimeout(resolve, 1));
        proxy.fault = 'none';
        await operations(running, 10);
      }
    });

    report(workload, 'cut after the commit, 10 times');
    expect(violationsIn(workload.history, await stored())).toEqual([]);
    expect([...workload.errors.keys()]).toEqual([409]);
  });

  it.each<[string, Fault]>([
    ['is refused', 'refuse'],
    ['is accepted, and nothing ever comes on it,', 'hang'],
  ])('that %s is told with 503 in time, and creates succeed again afterwards', async (_what, fault) => {
    const service = launch(proxy.url(database), { STORE_TIMEOUT: '1s' });
    const url = await service.listening();
    expect(await create(url, 1)).toEqual(CREATED);

    if (fault === 'hang') proxy.fault = fault;
    else proxy.cutAll(fault);
    const before = performance.now();
    expect(await create(url, 2)).toEqual(UNAVAILABLE);
    expect(performance.now() - before).toBeLessThan(4_000);
    // A connection on which nothing comes is never used again.
    proxy.fault = 'none';

    expect(await create(url, 2)).toEqual(CREATED);
    expect([...(await stored()).keys()]).toEqual([1n, 2n]);
    expect(service.stdout).not.toContain(PASSWORD);
    expect(await service.stop()).toBe(0);
  });
});

describe('a server', () => {
  it('that is killed with -9 under load, and started again, loses no acknowledged plant', async () => {
    const urls = [await launch(database).listening(), await launch(database).listening()];

    const workload = await history(urls, async (running) => {
      for (let kills = 0; kills < 3; kills += 1) {
        await server.kill();
        await server.restart();
        const before = performance.now();
        await operations(running, 1);
        console.info(`${Math.round(performance.now() - before)} ms from the server's return to the next success`);
        await operations(running, 100);
      }
    });

    report(workload, 'killed 3 times');
    expect(violationsIn(workload.history, await stored())).toEqual([]);
    expect([...workload.errors.keys()].filter((error) => error !== 409 && error !== 503)).toEqual([]);
  });

  it('that is killed with -9 under load, and whose synchronous standby takes its place, loses no acknowledged plant', async () => {
    await server.stop();
    const standby = server.standby('standby');
    await server.restart(['-c', 'synchronous_standby_names=standby']);
    await standby.restart();
    try {
      const urls = [await launch(proxy.url(database)).listening(), await launch(proxy.url(database)).listening()];

      const workload = await history(urls, async (running) => {
        await server.kill();
        const before = performance.now();
        // A client may reach the standby before it is the primary: it is read-only then.
        proxy.cutAll('none');
        proxy.upstream = standby.socket;
        await standby.query('SELECT pg_promote()');
        await operations(running, 1);
        console.info(`${Math.round(performance.now() - before)} ms from the kill to the next success`);
      });

      report(workload, 'failover');
      expect(violationsIn(workload.history, await stored(standby))).toEqual([]);
      expect([...workload.errors.keys()].filter((error) => error !== 409 && error !== 503)).toEqual([]);
    } finally {
      await Promise.all(processes.map((service) => service.stop('SIGKILL')));
      await standby.remove();
      await server.restart();
    }
  });

  it('that lets commits return early for this database is told otherwise', async () => {
    await server.query(`ALTER DATABASE ${new URL(database).pathname.slice(1)} SET synchronous_commit = off`);
    const url = await launch(proxy.url(database)).listening();

    expect(await create(url, 1)).toEqual(CREATED);

    expect(proxy.sent).toMatch(/INSERT INTO plants [^\0]* set_config\('synchronous_commit', 'on', true\)/);
  });
});

describe('a start', () => {
  it('waits for a server that is not there yet', async () => {
    proxy.fault = 'refuse';
    const service = launch(proxy.url(database));
    const listening = service.listening();
    await new Promise<void>((resolve) => proxy.onRefusal(resolve));
    proxy.fault = 'none';

    expect(await create(await listening, 1)).toEqual(CREATED);
  });

  const changed = (change: (url: URL) => void): string => {
    const url = new URL(proxy.url(database));
    change(url);
    return url.href;
  };

  it.each<[string, () => string | Promise<string>, RegExp]>([
    [
      'its server cannot be reached',
      () => changed((url) => (url.port = '1')),
      /cannot be reached or used \(ECONNREFUSED\)/,
    ],
    ['the password is wrong', () => changed((url) => (url.password = `${PASSWORD}x`)), /rejects this user/],
    ['the password is absent', () => changed((url) => (url.password = '')), /rejects this user/],
    ['the user is unknown', () => changed((url) => (url.username = 'nobody')), /rejects this user/],
    ['the database does not exist', () => changed((url) => (url.pathname = 'none')), /\/none does not exist/],
    [
      'the user may not make tables',
      async () => {
        await server.query(`DROP ROLE IF EXISTS guest`);
        await server.query(`CREATE ROLE guest LOGIN PASSWORD '${decodeURIComponent(PASSWORD)}'`);
        return changed((url) => (url.username = 'guest'));
      },
      /denies this user a privilege that it needs/,
    ],
    [
      'the encoding of the database cannot hold any text',
      () => server.createDatabase("ENCODING 'LATIN1' TEMPLATE template0"),
      /has the encoding LATIN1/,
    ],
    ['the server has no TLS', () => changed((url) => (url.search = '?sslmode=require')), /cannot be reached over TLS/],
    [
      'the file of sslrootcert is not there',
      () => changed((url) => (url.search = '?sslmode=verify-full&sslrootcert=none.pem')),
      /sslrootcert .* cannot be read, none\.pem/,
    ],
  ])('ends with status 1 and one line where %s', async (_what, url, complaint) => {
    const service = launch(await url(), { DATABASE_START_TIMEOUT: '100ms' });

    expect(await service.ended).toBe(1);
    expect(service.stderr).toMatch(/^plant-store: the database postgres:\/\/[^\n]+\n$/);
    expect(service.stderr).toMatch(complaint);
    expect(service.stderr).not.toMatch(/ss-word/);
    expect(service.stdout).toBe('');
  });
});
