/** What the store promises while the connection to PostgreSQL, or its server, fails: no plant lost, and 503 in time. */
import { jest } from '@jest/globals';
import pg from 'pg';
import { type DatabaseOptions } from '../../src/storage/engine.js';
import { openRepository } from '../../src/storage/engines.js';
import { type PlantRepository, RepositoryUnavailableError } from '../../src/storage/plant-repository.js';
import { FaultProxy } from './fault-proxy.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { expectKeptPromises, nameOf, runFaults } from '../support/postgres-history.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

const MONSTERA = { id: 1n, name: 'Monstera' };

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

/** Starts so many services, and returns their URLs. */
async function startSome(count: number, url: string): Promise<string[]> {
  const variables = { ...WITH_TOKEN, DATABASE_URL: url };
  const services = await Promise.all(Array.from({ length: count }, () => directory.start(variables)));
  return services.map((service) => service.url);
}

describe('Five repositories that open together on an empty database', () => {
  it('all open, and create one plant of those that they add with the same id', async () => {
    const repositories = await Promise.all(Array.from({ length: 5 }, () => openRepository(database)));
    const ids = Array.from({ length: 1_000 }, (_, index) => BigInt(index));

    const outcomes = await Promise.all(
      repositories.map((repository, index) => repository.add(ids.map((id) => ({ id, name: `plant of ${index}` })))),
    );

    for (const id of ids) {
      const ofId = outcomes.map((ofRepository) => ofRepository[Number(id)]);
      expect(ofId.sort()).toEqual(['conflict', 'conflict', 'conflict', 'conflict', 'created']);
    }
    await Promise.all(repositories.map((repository) => repository.close()));
  });
});

describe('A repository', () => {
  /** Opens the database through the proxy, and closes it after the work. */
  async function withRepository(
    work: (repository: PlantRepository) => Promise<void>,
    options?: Partial<DatabaseOptions>,
  ): Promise<void> {
    const repository = await openRepository(proxy.url(database), options);
    try {
      await work(repository);
    } finally {
      // A server that hangs would keep the connections open.
      proxy.cutAll('refuse');
      await repository.close();
    }
  }

  it('reads no long plant to compare a short one with it: a thousand would not fit into memory', () =>
    withRepository(async (repository) => {
      await repository.add([{ id: 1n, name: 'x'.repeat(1_000_000) }]);
      const { passed } = proxy;

      expect(await repository.add([MONSTERA])).toEqual(['conflict']);
      expect(proxy.passed - passed).toBeLessThan(10_000);
    }));

  it('tries a statement again after an error that may pass, and after no other one', () =>
    withRepository(async (repository) => {
      // A serialization failure.
      proxy.fault = { sqlState: '40001', times: 3 };
      expect(await repository.add([MONSTERA])).toEqual(['created']);
      expect(proxy.hits).toBe(3);

      // A missing function.
      proxy.fault = { sqlState: '42883', times: 1 };
      await expect(repository.add([MONSTERA])).rejects.not.toThrow(RepositoryUnavailableError);
    }));

  it('tries to compare the taken ids of a batch again, and remembers which plants it has created', () =>
    withRepository(async (repository) => {
      const ficus = { id: 2n, name: 'Ficus' };
      await repository.add([MONSTERA, { id: 3n, name: 'Aloe' }]);
      proxy.fault = { sqlState: '40001', times: 2, of: 'comparisons' };

      const outcomes = await repository.add([MONSTERA, ficus, { id: 3n, name: 'Agave' }]);
      expect(outcomes).toEqual(['repeated', 'created', 'conflict']);
      expect(proxy.hits).toBe(2);
    }));

  it('is unavailable, with the reason of the server, until a lasting error is over', () =>
    withRepository(async (repository) => {
      // A full disk.
      proxy.fault = { sqlState: '53100', times: Infinity };
      const added = repository.add([MONSTERA]);
      await expect(added).rejects.toThrow(RepositoryUnavailableError);
      await expect(added).rejects.toThrow('the database cannot be used: planted by the tests');

      proxy.fault = 'none';
      expect(await repository.add([MONSTERA])).toEqual(['created']);
    }));

  it.each([
    ['is refused', () => proxy.cutAll('refuse')],
    ['is silent', () => void (proxy.fault = 'hang')],
  ])('whose connection %s is unavailable in time, and goes on afterwards', (_, fail) =>
    withRepository(
      async (repository) => {
        await repository.add([MONSTERA]);
        fail();
        const began = performance.now();
        await expect(repository.add([MONSTERA])).rejects.toThrow(RepositoryUnavailableError);
        // TCP alone would wait for minutes.
        expect(performance.now() - began).toBeLessThan(30_000);

        // It does not use a silent connection again.
        proxy.fault = 'none';
        expect(await repository.add([MONSTERA])).toEqual(['repeated']);
      },
      { timeout: 1_000 },
    ),
  );

  it('waits for the server no longer than its timeout, and then tells why the attempts before failed', () => {
    const timeout = 4_000;
    return withRepository(
      async (repository) => {
        const began = performance.now();
        // Serialization failures, and then a connection on which no answer comes.
        proxy.fault = { sqlState: '40001', times: Infinity };
        const added = expect(repository.add([MONSTERA])).rejects.toThrow('planted by the tests');
        await until('most of the time is over', () => performance.now() - began > 0.75 * timeout);
        proxy.fault = 'swallow';
        await added;

        expect(performance.now() - began).toBeLessThan(1.4 * timeout);
      },
      { timeout },
    );
  });

  it.each([
    ['its connection is open', () => void (proxy.fault = 'hang')],
    ['it opens a connection', () => proxy.cutAll('hang')],
  ])('ends a check after a second where the server does not answer: %s', (_, fail) =>
    withRepository(
      async (repository) => {
        await repository.check?.();
        fail();
        const began = performance.now();
        await expect(repository.check?.()).rejects.toThrow('the database cannot be used: ');
        // A batch waits for ten seconds, and for a connection for five.
        expect(performance.now() - began).toBeLessThan(4_000);
      },
      { timeout: 10_000 },
    ),
  );
});

describe('Under load, no promise is broken by', () => {
  it('a connection that is cut between the commit and the answer', async () => {
    const urls = await startSome(1, proxy.url(database));

    const workload = await runFaults('cut after the commit, 10 times', urls, async (running) => {
      for (let cuts = 1; cuts <= 10; cuts += 1) {
        proxy.fault = 'cut';
        await until('the answer of a statement is cut off', () => proxy.hits >= cuts);
        proxy.fault = 'none';
        await running.acknowledged(10);
      }
    });

    await expectKeptPromises(workload, server, database, [409]);
  });

  it('a server that is killed, with synchronous_commit off', async () => {
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

  it('a server that is killed and replaced by its synchronous standby', async () => {
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
  /** Opens the database, which must wait once, and calls a function then. */
  async function openAfter(url: string, end: () => unknown): Promise<void> {
    let hasWaited = false;
    const onWait = (): void => {
      hasWaited = true;
      void end();
    };
    const repository = await openRepository(url, { timeout: 1_000, onWait });

    expect(await repository.add([MONSTERA])).toEqual(['created']);
    expect(hasWaited).toBe(true);
    await repository.close();
  }

  it('waits for a server that does not listen yet', () => {
    proxy.fault = 'refuse';
    return openAfter(proxy.url(database), () => (proxy.fault = 'none'));
  });

  it.each([
    ['is read-only', 'ALTER DATABASE $ SET default_transaction_read_only = on', 'ALTER DATABASE $ RESET ALL'],
    ['has a locked table', 'BEGIN; LOCK TABLE plants', 'ROLLBACK'],
  ])('waits for a server that %s', async (_, begin, end) => {
    await (await openRepository(database)).close();
    const other = new pg.Client({ connectionString: database });
    await other.connect();
    await other.query(begin.replace('$', nameOf(database)));

    await openAfter(database, () =>
      other.query(`SET default_transaction_read_only = off; ${end.replace('$', nameOf(database))}`),
    );
    await other.end();
  });

  it('ends with status 1 and one line when its server cannot be reached within DATABASE_START_TIMEOUT', async () => {
    const { href } = Object.assign(new URL(proxy.url(database)), { port: '1' });
    const service = directory.launch({ ...WITH_TOKEN, DATABASE_URL: href, DATABASE_START_TIMEOUT: '3s' });

    expect(await service.ended).toBe(1);
    expect(service.stderr).toMatch(/^plant-store: the database postgres:\/\/[^\n]+: connect ECONNREFUSED [^\n]+\n$/);
    expect(service.stdout).toMatch(/^\{[^\n]*"The start waits for the database: [^\n]+\}\n$/);
    expect(`${service.stderr}${service.stdout}`).not.toMatch(/ss-word/);
  });

  beforeAll(async () => {
    await server.query(`CREATE ROLE guest LOGIN PASSWORD '${decodeURIComponent(PASSWORD)}'`);
    await server.query("CREATE DATABASE latin1 ENCODING 'LATIN1' TEMPLATE template0");
  });

  it.each<[what: string, change: Partial<URL>, reason: string]>([
    [
      'the password is wrong',
      { password: `${PASSWORD}x` },
      'password authentication failed for user "postgres"; correct the password in its URL, which is read only at the start',
    ],
    ['there is no password', { password: '' }, 'client password must be a string; its URL has no password'],
    ['the database does not exist', { pathname: 'none' }, '"none" does not exist'],
    [
      'the user may not create tables',
      { username: 'guest' },
      'permission denied for schema public; make this user the owner',
    ],
    ['its encoding is not UTF-8', { pathname: 'latin1' }, "it is in LATIN1; create it with ENCODING 'UTF8'"],
    ['the server does not offer TLS', { search: '?sslmode=require' }, '; check sslmode and sslrootcert'],
  ])('ends at once with one line when %s', async (_, change, reason) => {
    const { href } = Object.assign(new URL(proxy.url(database)), change);
    const onWait = jest.fn();

    const error = await openRepository(href, { startTimeout: 120_000, onWait }).catch((cause: unknown) => cause);

    expect(error).toMatchObject({ name: 'OperatorError', message: expect.stringContaining(reason) as unknown });
    expect((error as Error).message).toMatch(
      /^the database postgres:\/\/127\.0\.0\.1:\d+\/\w+ cannot be used: [^\n]+$/,
    );
    expect((error as Error).message).not.toMatch(/ss-word/);
    expect(onWait).not.toHaveBeenCalled();
  });
});
