import pg from 'pg';
import { openRepository } from '../../src/storage/engines.js';
import { CREATED, create, monstera, refusal } from '../support/client.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { expectKeptPromises, nameOf, runFaults } from '../support/postgres-history.js';
import { ServiceDirectory, type Started, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();
let server: PostgresServer;
let proxy: FaultProxy;
let database: string;

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(async () => {
  database = await server.createDatabase();
  proxy = await FaultProxy.start(server.socket);
});

afterEach(() => proxy.close());

afterAll(() => server.remove());

function start(url: string, variables: Variables = {}): Promise<Started> {
  return directory.start({ ...WITH_TOKEN, DATABASE_URL: url, ...variables });
}

/** Starts so many services, and returns their URLs. */
async function startSome(count: number, url: string): Promise<string[]> {
  const services = await Promise.all(Array.from({ length: count }, () => start(url)));
  return services.map((service) => service.url);
}

describe('Five services that start together on an empty database', () => {
  it('all start, and break no promise when they contend for the same ids', async () => {
    const urls = await startSome(5, database);

    const workload = await runFaults('5 services', urls, () => Promise.resolve());

    await expectKeptPromises(workload, server, database, [409]);
  });
});

describe('A statement', () => {
  it('reads no long plant to refuse a short one with its id: a thousand would not fit into memory', async () => {
    const { url } = await start(proxy.url(database));
    await create(url, { id: 1, name: 'x'.repeat(1_000_000) });
    const { passed } = proxy;

    expect(await create(url, monstera(1))).toEqual(refusal(409));
    expect(proxy.passed - passed).toBeLessThan(10_000);
  });

  it('is retried after an error that may be over at the next attempt, and after no other one', async () => {
    const { url } = await start(proxy.url(database));
    // A serialization failure, a deadlock, too many connections, a standby, a shutdown, and any error of PgBouncer.
    for (const sqlState of ['40001', '40P01', '53300', '25006', '57P01', '08P01']) {
      proxy.hits = 0;
      proxy.fault = { sqlState, times: 3 };

      expect([sqlState, await create(url)]).toEqual([sqlState, CREATED]);
      expect(proxy.hits).toBe(3);
    }
    // A missing function.
    proxy.fault = { sqlState: '42883', times: 1 };
    expect(await create(url)).toEqual(refusal(500));
  });

  it('that compares the taken ids of a batch is retried, and the other plants of the batch are still created', async () => {
    const repository = await openRepository(proxy.url(database));
    await repository.add([
      { id: 1n, name: 'Monstera' },
      { id: 3n, name: 'Aloe' },
    ]);
    proxy.fault = { sqlState: '40001', times: 2, of: 'comparisons' };

    expect(
      await repository.add([
        { id: 1n, name: 'Monstera' },
        { id: 2n, name: 'Ficus' },
        { id: 3n, name: 'Agave' },
      ]),
    ).toEqual(['repeated', 'created', 'conflict']);
    expect(proxy.hits).toBe(2);
    await repository.close();
  });

  it('is answered with error 503, and logged with the cause, until an error of the server is over', async () => {
    const { service, url } = await start(proxy.url(database), { STORE_TIMEOUT: '300ms' });
    // A missing table, a missing privilege, a full disk, a standby, and a lock that was held for too long.
    for (const sqlState of ['42P01', '42501', '53100', '25006', '57014']) {
      proxy.fault = { sqlState, times: Infinity };
      expect([sqlState, await create(url)]).toEqual([sqlState, refusal(503)]);
      proxy.fault = 'none';
      await until('the service creates plants again', async () => (await create(url)).status === 200);
    }
    expect(service.stdout).toContain('"Plants refused with 503: the database cannot be used: planted by the tests"');
    expect(service.stdout).toContain('"The store takes plants again; plants refused meanwhile: ');
  });
});

describe('A connection', () => {
  it('that is cut between the commit and the answer breaks no promise', async () => {
    const { url } = await start(proxy.url(database));

    const workload = await runFaults('cut after the commit, 10 times', [url], async (running) => {
      for (let cuts = 1; cuts <= 10; cuts += 1) {
        proxy.fault = 'cut';
        await until('the answer of a statement is cut off', () => proxy.hits >= cuts);
        proxy.fault = 'none';
        await running.acknowledged(10);
      }
    });

    await expectKeptPromises(workload, server, database, [409]);
  });

  it.each([
    ['is refused', () => proxy.cutAll('refuse')],
    ['is silent', () => void (proxy.fault = 'hang')],
  ])('that %s is answered with error 503 in time, and creates succeed again afterwards', async (_, fail) => {
    const { service, url } = await start(proxy.url(database), { STORE_TIMEOUT: '1s' });
    expect(await create(url)).toEqual(CREATED);

    fail();
    const before = performance.now();
    expect(await create(url, monstera(2))).toEqual(refusal(503));
    // TCP alone would wait for minutes.
    expect(performance.now() - before).toBeLessThan(30_000);

    // The service does not use a silent connection again.
    proxy.fault = 'none';
    await until('the service creates plants again', async () => (await create(url, monstera(2))).status === 200);
    expect(service.stdout).not.toContain(PASSWORD);
    expect(await service.stop()).toBe(0);
  });
});

describe('A password that is rotated', () => {
  it('is read from DATABASE_URL_FILE for the next connection', async () => {
    const writeUrl = (password: string): string => {
      const { href } = Object.assign(new URL(proxy.url(database)), { username: 'rotated', password });
      return directory.write('url', `${href}\n`);
    };
    await server.query("CREATE ROLE rotated LOGIN PASSWORD 'first'");
    await server.query(`ALTER DATABASE ${nameOf(database)} OWNER TO rotated`);
    const { service, url } = await directory.start({ ...WITH_TOKEN, DATABASE_URL_FILE: writeUrl('first') });
    expect(await create(url)).toEqual(CREATED);

    await server.query("ALTER ROLE rotated PASSWORD 'second'");
    proxy.cutAll('none');
    expect(await create(url, monstera(2))).toEqual(refusal(503));
    await service.printed(/(Plants refused with 503: .+ password authentication failed for user )/);
    writeUrl('second');

    expect(await create(url, monstera(2))).toEqual(CREATED);
  });
});

describe('A server', () => {
  it('that does not answer ends a check after a second', async () => {
    const repository = await openRepository(proxy.url(database));
    await repository.check?.();
    proxy.fault = 'hang';

    try {
      // A batch waits for five.
      const began = performance.now();
      await expect(repository.check?.()).rejects.toThrow('the database cannot be used: ');
      expect(performance.now() - began).toBeLessThan(4_000);
    } finally {
      proxy.cutAll('refuse');
      await repository.close();
    }
  });

  it('that is killed under load, with synchronous_commit off, loses no acknowledged plant', async () => {
    // A commit that does not wait for the disk is written this late.
    const flags = ['-c', 'synchronous_commit=off', '-c', 'wal_writer_delay=10s'];
    await server.stop();
    await server.restart(flags);
    const urls = await startSome(2, database);
    const count = Number(process.env.KILLS ?? 3);
    const workload = await runFaults(`killed ${count} times`, urls, async (running) => {
      for (let kills = 0; kills < count; kills += 1) {
        await running.acknowledged(100);
        await server.kill();
        await server.restart(flags);
      }
    });

    await expectKeptPromises(workload, server, database);
    await server.stop();
    await server.restart();
  });

  it('that is killed under load and replaced by its synchronous standby loses no acknowledged plant', async () => {
    await server.stop();
    const standby = server.standby('standby');
    try {
      await server.restart(['-c', 'synchronous_standby_names=standby']);
      await standby.restart();
      const urls = await startSome(2, proxy.url(database));

      const workload = await runFaults('failover', urls, async () => {
        await server.kill();
        // A service may reach the standby before its promotion, while it is read-only.
        proxy.cutAll('none');
        proxy.upstream = standby.socket;
        await standby.query('SELECT pg_promote()');
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
    const starting = start(proxy.url(database));
    await until('a connection is refused', () => proxy.refused > 0);
    proxy.fault = 'none';

    expect(await create((await starting).url)).toEqual(CREATED);
  });

  it.each([
    {
      what: 'is read-only',
      begin: 'ALTER DATABASE $ SET default_transaction_read_only = on',
      end: 'ALTER DATABASE $ RESET ALL',
    },
    { what: 'has a locked table', begin: 'BEGIN; LOCK TABLE plants', end: 'ROLLBACK' },
  ])('waits for a server that $what', async ({ begin, end }) => {
    await (await openRepository(database)).close();
    const other = new pg.Client({ connectionString: database });
    await other.connect();
    await other.query(begin.replace('$', nameOf(database)));
    const service = directory.launch({ ...WITH_TOKEN, DATABASE_URL: database, STORE_TIMEOUT: '1s' });
    await service.printed(/(The start waits for the database: )/);
    await other.query(`SET default_transaction_read_only = off; ${end.replace('$', nameOf(database))}`);
    await other.end();

    expect(await create(await service.listening())).toEqual(CREATED);
  });

  beforeAll(async () => {
    await server.query(`CREATE ROLE guest LOGIN PASSWORD '${decodeURIComponent(PASSWORD)}'`);
    await server.query("CREATE DATABASE latin1 ENCODING 'LATIN1' TEMPLATE template0");
  });

  it('ends with status 1 and one line when its server cannot be reached within DATABASE_START_TIMEOUT', async () => {
    const { href } = Object.assign(new URL(proxy.url(database)), { port: '1' });
    const service = directory.launch({ ...WITH_TOKEN, DATABASE_URL: href, DATABASE_START_TIMEOUT: '600ms' });

    expect(await service.ended).toBe(1);
    expect(service.stderr).toMatch(/^plant-store: the database postgres:\/\/[^\n]+: connect ECONNREFUSED [^\n]+\n$/);
    expect(service.stdout).toMatch(/^\{[^\n]*"The start waits for the database: [^\n]+\}\n$/);
    expect(`${service.stderr}${service.stdout}`).not.toMatch(/ss-word/);
  });

  it.each<{ what: string; change: Partial<URL>; complaint: RegExp }>([
    {
      what: 'the password is wrong',
      change: { password: `${PASSWORD}x` },
      complaint: /authentication failed/,
    },
    { what: 'the database does not exist', change: { pathname: 'none' }, complaint: /"none" does not exist/ },
    {
      what: 'the user may not create tables',
      change: { username: 'guest' },
      complaint: /permission denied for schema public; make this user the owner/,
    },
    {
      what: 'the encoding of the database is not UTF-8',
      change: { pathname: 'latin1' },
      complaint: /it is in LATIN1; create it with ENCODING 'UTF8'/,
    },
    {
      what: 'the server does not offer TLS',
      change: { search: '?sslmode=require' },
      complaint: /; check sslmode and sslrootcert/,
    },
  ])('ends at once with status 1 and one line when $what', async ({ change, complaint }) => {
    const { href } = Object.assign(new URL(proxy.url(database)), change);

    const service = directory.launch({ ...WITH_TOKEN, DATABASE_URL: href, DATABASE_START_TIMEOUT: '2m' });

    expect(await service.ended).toBe(1);
    expect(service.stderr).toMatch(/^plant-store: the database postgres:\/\/[^\n]+\n$/);
    expect(service.stderr).toMatch(complaint);
    expect(service.stdout).toBe('');
    expect(`${service.stderr}${service.stdout}`).not.toMatch(/ss-word/);
  });
});
