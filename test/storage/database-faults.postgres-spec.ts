import { once } from 'node:events';
import pg from 'pg';
import { create, refusal } from '../support/client.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { PostgresServer, type Sessions } from '../support/postgres.js';
import { expectKeptPromises, nameOf, runFaults } from '../support/postgres-history.js';
import { report } from '../support/report.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

/** Maximum connections that the service uses for statements. */
const POOL_SIZE = 2;

const VARIABLES = { ...WITH_TOKEN, STORE_TIMEOUT: '1s' };

let directory: ServiceDirectory;
let server: PostgresServer;
let database: string;
/** The sessions of the service, and that of `other`. */
let sessions: Sessions;
/** Another user of the database. */
let other: pg.Client;
let monitor: pg.Client;

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(async () => {
  directory = new ServiceDirectory();
  database = await server.createDatabase();
  sessions = server.sessions(nameOf(database));
  other = new pg.Client({ connectionString: database });
  other.on('error', () => undefined);
  await other.connect();
  monitor = new pg.Client({ connectionString: server.url() });
  await monitor.connect();
});

afterEach(async () => {
  await other.end();
  await monitor.end();
  await directory.remove();
});

afterAll(() => server.remove());

/** Waits until the service has no session, and checks that no backend is left. */
async function expectNoBackend(): Promise<void> {
  while (sessions.open > 1) await once(sessions, 'end');
  const { rows } = await monitor.query<{ application_name: string }>(
    `SELECT application_name FROM pg_stat_activity WHERE datname = '${nameOf(database)}'`,
  );
  expect(rows).toHaveLength(1);
}

async function aStatementWaits(): Promise<void> {
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await until('a statement waits for a lock', async () => (await monitor.query(waiting)).rowCount !== 0);
}

async function configure(setting: string): Promise<void> {
  await monitor.query(`ALTER SYSTEM ${setting}`);
  await monitor.query('SELECT pg_reload_conf()');
}

describe('A fault for longer than STORE_TIMEOUT under 32 clients', () => {
  it.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    [
      'the table is locked',
      () => other.query('BEGIN; LOCK TABLE plants IN ACCESS EXCLUSIVE MODE'),
      () => other.query('ROLLBACK'),
    ],
    [
      'some ids are locked',
      () =>
        other.query(
          "BEGIN; INSERT INTO plants (id, name) SELECT id, 'locked' FROM generate_series(-1000, 50) id ON CONFLICT DO NOTHING",
        ),
      () => other.query('ROLLBACK'),
    ],
    [
      // No timeout of the server ends this.
      'commits wait for a synchronous standby',
      () => configure("SET synchronous_standby_names = 'absent'"),
      () => configure('RESET synchronous_standby_names'),
    ],
  ])(
    'where %s takes no more connections than the pool has, and one to look, and breaks no promise',
    async (what, begin, end) => {
      const { service, url } = await directory.start({ ...VARIABLES, DATABASE_URL: database });

      const workload = await runFaults(what, [url], async (running) => {
        await begin();
        const refused = (running.errors.get(503) ?? 0) + 150;
        await running.until(() => (running.errors.get(503) ?? 0) >= refused);
        await end();
        const before = performance.now();
        await running.acknowledged(1);
        report(`${Math.round(performance.now() - before)} ms from the end of the fault to the next success`);
      });

      expect(sessions.most).toBeLessThanOrEqual(1 + POOL_SIZE + 1);
      await expectKeptPromises(workload, server, database);
      expect(await service.stop()).toBe(0);
    },
  );
});

describe('A locked table', () => {
  it('lets SIGTERM end the service, which leaves no backend', async () => {
    const { service, url } = await directory.start({ ...VARIABLES, DATABASE_URL: database });
    await other.query('BEGIN; LOCK TABLE plants IN ACCESS EXCLUSIVE MODE');
    const waiting = create(url);
    await aStatementWaits();

    const stopped = service.stop();
    expect(await waiting).toEqual(refusal(503));
    expect(await stopped).toBe(0);
    await expectNoBackend();
    expect(sessions.most).toBeLessThanOrEqual(1 + POOL_SIZE);
  });

  it('lets a killed service leave no backend for longer than STORE_TIMEOUT', async () => {
    const { service, url } = await directory.start({ ...VARIABLES, DATABASE_URL: database });
    await other.query('BEGIN; LOCK TABLE plants IN ACCESS EXCLUSIVE MODE');
    const waiting = create(url);
    await aStatementWaits();

    await service.stop('SIGKILL');
    await expect(waiting).rejects.toThrow();
    await expectNoBackend();
    expect(sessions.most).toBeLessThanOrEqual(1 + POOL_SIZE);
  });

  it('ends a start with status 1, a line that says where to look, and no backend', async () => {
    const { service } = await directory.start({ ...VARIABLES, DATABASE_URL: database });
    await service.stop();
    await other.query('BEGIN; LOCK TABLE plant_store_schema IN ACCESS EXCLUSIVE MODE');

    await expectNoBackend();
    sessions.most = 0;
    const start = directory.launch({ ...VARIABLES, DATABASE_URL: database, DATABASE_START_TIMEOUT: '2s' });
    expect(await start.ended).toBe(1);
    expect(start.stderr).toMatch(/does not execute statements in time; look at pg_locks/);
    await expectNoBackend();
    expect(sessions.most).toBe(2);
  });
});

describe('An error of the server while the service runs', () => {
  /** SQLSTATEs, and what the log says to the operator. */
  const ERRORS = [
    ['42P01', 'it lacks a table as the service created it; '],
    ['42501', 'it denies this user a privilege that it needs; '],
    ['55000', 'it accepts no connections; '],
    ['3D000', 'it does not exist on its server; '],
    ['28P01', 'it rejects this user; '],
    ['53100', 'it has no room left on the disk of its server; '],
    ['53200', 'it has no memory left on its server; '],
    ['53300', 'it has no connection left; '],
    ['25006', 'it is read-only; '],
    ['57014', 'it does not execute statements in time; '],
    ['58030', 'it is damaged, or its server cannot use its disk; '],
  ] as const;

  it('is answered with error 503 and logged with its cause, until it is over', async () => {
    const proxy = await FaultProxy.start(server.socket);
    try {
      const { service, url } = await directory.start({
        ...VARIABLES,
        STORE_TIMEOUT: '300ms',
        DATABASE_URL: proxy.url(database),
      });
      for (const [sqlState, line] of ERRORS) {
        proxy.fault = { sqlState, times: Infinity };
        expect([sqlState, await create(url)]).toEqual([sqlState, refusal(503)]);
        await service.printed(new RegExp(`"Plants refused with 503: 1; the database did not store them: (${line})`));

        proxy.fault = 'none';
        // STORE_TIMEOUT is short for a busy machine.
        await until('the service creates plants again', async () => (await create(url)).status === 200);
      }
    } finally {
      proxy.close();
    }
  });
});
