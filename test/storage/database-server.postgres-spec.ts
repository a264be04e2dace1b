import { CREATED, create, monstera, refusal } from '../support/client.js';
import { type Fault, FaultProxy } from '../support/fault-proxy.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { expectKeptPromises, nameOf, runFaults } from '../support/postgres-history.js';
import { report } from '../support/report.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

let directory: ServiceDirectory;
let server: PostgresServer;
let proxy: FaultProxy;
let database: string;

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(async () => {
  directory = new ServiceDirectory();
  database = await server.createDatabase();
  proxy = await FaultProxy.start(server.socket);
});

afterEach(async () => {
  await directory.remove();
  proxy.close();
});

afterAll(() => server.remove());

function launch(url: string, variables: Variables = {}): ServiceProcess {
  return directory.launch({ ...WITH_TOKEN, DATABASE_URL: url, ...variables });
}

describe('Five processes that start together on an empty database', () => {
  it('all start, and break no promise when they contend for the same ids', async () => {
    const services = Array.from({ length: 5 }, () => launch(database));
    const urls = await Promise.all(services.map((service) => service.listening()));

    const workload = await runFaults('5 processes', urls, () => Promise.resolve());

    await expectKeptPromises(workload, server, database, [409]);
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual(services.map(() => 0));
  });
});

describe('A service with WORKERS=2', () => {
  it('has a pool in each worker, and breaks no promise when a worker is killed', async () => {
    const service = launch(database, { WORKERS: '2' });
    const url = await service.listening();
    const [killed = 0] = service.workers();

    const workload = await runFaults('2 workers', [url], async () => {
      process.kill(killed, 'SIGKILL');
      await service.printed(new RegExp(`(worker ${killed} ended with SIGKILL)`));
      await until('there are two workers', () => service.workers().length === 2);
    });

    await expectKeptPromises(workload, server, database, [409]);
    const [connections] = await server.query<{ count: string }>(
      'SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      nameOf(database),
    );
    // Each worker has at most two, and so has the primary.
    expect(Number(connections?.count)).toBeLessThanOrEqual(6);
    expect(await service.stop()).toBe(0);
  });
});

describe('A statement', () => {
  it('is retried after an error that may be over at the next attempt', async () => {
    const url = await launch(proxy.url(database)).listening();
    // A serialization failure, a deadlock, too many connections, a standby, a shutdown, and any error of PgBouncer.
    for (const sqlState of ['40001', '40P01', '53300', '25006', '57P01', '08P01']) {
      proxy.hits = 0;
      proxy.fault = { sqlState, times: 3 };

      expect([sqlState, await create(url)]).toEqual([sqlState, CREATED]);
      expect(proxy.hits).toBe(3);
    }
  });

  it('is answered with error 500 after an error that no retry can remove, such as a missing function (42883)', async () => {
    const url = await launch(proxy.url(database)).listening();
    proxy.fault = { sqlState: '42883', times: 1 };

    expect(await create(url)).toEqual(refusal(500));
    expect(await create(url)).toEqual(CREATED);
  });
});

describe('A connection', () => {
  it('that is cut between the commit and the answer breaks no promise', async () => {
    const url = await launch(proxy.url(database)).listening();

    const workload = await runFaults('cut after the commit, 10 times', [url], async (running) => {
      for (let cuts = 1; cuts <= 10; cuts += 1) {
        proxy.fault = 'cut';
        await proxy.hit(cuts);
        proxy.fault = 'none';
        await running.acknowledged(10);
      }
    });

    await expectKeptPromises(workload, server, database, [409]);
  });

  it.each<[string, Fault]>([
    ['is refused', 'refuse'],
    ['is accepted but silent', 'hang'],
  ])('that %s is answered with error 503 in time, and creates succeed again afterwards', async (_what, fault) => {
    const service = launch(proxy.url(database), { STORE_TIMEOUT: '1s' });
    const url = await service.listening();
    expect(await create(url)).toEqual(CREATED);

    if (fault === 'hang') proxy.fault = fault;
    else proxy.cutAll(fault);
    const before = performance.now();
    expect(await create(url, monstera(2))).toEqual(refusal(503));
    // TCP alone would wait for minutes.
    expect(performance.now() - before).toBeLessThan(30_000);
    // The service does not use a silent connection again.
    proxy.fault = 'none';

    await until('the service creates plants again', async () => (await create(url, monstera(2))).status === 200);
    expect(await server.query('SELECT id FROM plants ORDER BY id', nameOf(database))).toEqual([
      { id: '1' },
      { id: '2' },
    ]);
    expect(service.stdout).not.toContain(PASSWORD);
    expect(await service.stop()).toBe(0);
  });
});

describe('A server', () => {
  it('that is killed under load and restarted loses no acknowledged plant', async () => {
    const urls = [await launch(database).listening(), await launch(database).listening()];

    const workload = await runFaults('killed 3 times', urls, async (running) => {
      for (let kills = 0; kills < 3; kills += 1) {
        await server.kill();
        await server.restart();
        const before = performance.now();
        await running.acknowledged(1);
        report(`${Math.round(performance.now() - before)} ms from the restart to the next success`);
        await running.acknowledged(100);
      }
    });

    await expectKeptPromises(workload, server, database);
  });

  it('that is killed under load and replaced by its synchronous standby loses no acknowledged plant', async () => {
    await server.stop();
    const standby = server.standby('standby');
    try {
      await server.restart(['-c', 'synchronous_standby_names=standby']);
      await standby.restart();
      const urls = [await launch(proxy.url(database)).listening(), await launch(proxy.url(database)).listening()];

      const workload = await runFaults('failover', urls, async (running) => {
        await server.kill();
        const before = performance.now();
        // A service may reach the standby before its promotion, while it is read-only.
        proxy.cutAll('none');
        proxy.upstream = standby.socket;
        await standby.query('SELECT pg_promote()');
        await running.acknowledged(1);
        report(`${Math.round(performance.now() - before)} ms from the kill to the next success`);
      });

      await expectKeptPromises(workload, standby, database);
    } finally {
      await standby.remove();
      await server.stop();
      await server.restart();
    }
  });
});

describe('A start', () => {
  it('waits for a server that does not listen yet', async () => {
    proxy.fault = 'refuse';
    const service = launch(proxy.url(database));
    const listening = service.listening();
    await proxy.refusal();
    proxy.fault = 'none';

    expect(await create(await listening)).toEqual(CREATED);
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
    ['the database does not exist', () => changed((url) => (url.pathname = 'none')), /\/none does not exist/],
    [
      'the user may not create tables',
      async () => {
        await server.query(`DROP ROLE IF EXISTS guest`);
        await server.query(`CREATE ROLE guest LOGIN PASSWORD '${decodeURIComponent(PASSWORD)}'`);
        return changed((url) => (url.username = 'guest'));
      },
      /denies this user a privilege that it needs/,
    ],
    [
      'the encoding of the database is not UTF-8',
      () => server.createDatabase("ENCODING 'LATIN1' TEMPLATE template0"),
      /has an encoding that cannot hold every text/,
    ],
    [
      'the server does not offer TLS',
      () => changed((url) => (url.search = '?sslmode=require')),
      /cannot be reached over TLS/,
    ],
    [
      'the file of sslrootcert does not exist',
      () => changed((url) => (url.search = '?sslmode=verify-full&sslrootcert=none.pem')),
      /a file of its URL cannot be read \(ENOENT: [^\n]*none\.pem/,
    ],
  ])('ends with status 1 and one line when %s', async (_what, url, complaint) => {
    const service = launch(await url(), { DATABASE_START_TIMEOUT: '100ms' });

    expect(await service.ended).toBe(1);
    expect(service.stderr).toMatch(/^plant-store: the database postgres:\/\/[^\n]+\n$/);
    expect(service.stderr).toMatch(complaint);
    expect(service.stdout).toMatch(/^(?:\{[^\n]*"The start waits for the database: [^\n]+\}\n)?$/);
    expect(`${service.stderr}${service.stdout}`).not.toMatch(/ss-word/);
  });
});
