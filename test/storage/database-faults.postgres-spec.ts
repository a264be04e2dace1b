import pg from 'pg';
import { create, refusal, TOKEN } from '../support/client.js';
import { PostgresServer, type Sessions } from '../support/postgres.js';
import { expectKeptPromises, nameOf, runFaults } from '../support/postgres-history.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { until } from '../support/until.js';
import type { Workload } from '../support/workload.js';

/** Maximum connections of the service: for batches, and for checks. */
const CONNECTIONS = 2;

const directory = ServiceDirectory.ofEachTest();
let server: PostgresServer;
let database: string;
let variables: Variables;
/** The sessions of the service, and that of `other`. */
let sessions: Sessions;
/** Another user of the database. */
let other: pg.Client;

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(async () => {
  database = await server.createDatabase();
  variables = { ACCESS_TOKENS: TOKEN, STORE_TIMEOUT: '1s', DATABASE_URL: database };
  sessions = server.sessions(nameOf(database));
  other = new pg.Client({ connectionString: database });
  await other.connect();
});

afterEach(() => other.end());

afterAll(() => server.remove());

function lock(table: string): Promise<unknown> {
  return other.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
}

/** Waits until the service has no backend. */
function noBackend(): Promise<void> {
  const backends = `SELECT FROM pg_stat_activity WHERE datname = '${nameOf(database)}'`;
  return until('only the other user is connected', async () => (await server.query(backends)).length === 1);
}

function aStatementWaits(): Promise<void> {
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  return until('a statement waits for a lock', async () => (await server.query(waiting)).length > 0);
}

/** Waits until so many further requests are refused with 503. */
async function refusals(workload: Workload, count: number): Promise<void> {
  const refused = (workload.errors.get(503) ?? 0) + count;
  await workload.until(() => (workload.errors.get(503) ?? 0) >= refused);
}

async function configure(setting: string): Promise<void> {
  await server.query(`ALTER SYSTEM ${setting}`);
  await server.query('SELECT pg_reload_conf()');
}

describe('A fault for longer than STORE_TIMEOUT under 32 clients', () => {
  const SOME_IDS =
    "BEGIN; INSERT INTO plants (id, name) SELECT id, 'locked' FROM generate_series(-1000, 50) id ON CONFLICT DO NOTHING";

  it.each<[what: string, begin: () => Promise<unknown>]>([
    ['the table is locked', () => lock('plants')],
    ['some ids are locked', () => other.query(SOME_IDS)],
  ])('where %s takes no more connections, and breaks no promise', async (what, begin) => {
    const { service, url } = await directory.start(variables);

    const workload = await runFaults(what, [url], async (running) => {
      await begin();
      await refusals(running, 150);
      await other.query('ROLLBACK');
    });

    expect(sessions.most).toBeLessThanOrEqual(1 + CONNECTIONS);
    await expectKeptPromises(workload, server, database);
    expect(await service.stop()).toBe(0);
  });

  it('where commits wait for a synchronous standby breaks no promise, and CONNECTION LIMIT bounds its backends', async () => {
    // No timeout of the server ends these commits.
    const role = 'plants_limited';
    await server.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret' CONNECTION LIMIT 4`);
    await server.query(`ALTER DATABASE ${nameOf(database)} OWNER TO ${role}`);
    const { href } = Object.assign(new URL(database), { username: role, password: 'secret' });
    const { service, url } = await directory.start({ ...variables, DATABASE_URL: href });

    const workload = await runFaults('commits wait', [url], async (running) => {
      await configure("SET synchronous_standby_names = 'absent'");
      try {
        await refusals(running, 300);
        const backends = await server.query(`SELECT FROM pg_stat_activity WHERE usename = '${role}'`);
        // Those of the commits that wait, and none that is refused.
        expect(backends.length).toBeLessThanOrEqual(4);
      } finally {
        await configure('RESET synchronous_standby_names');
      }
    });

    await expectKeptPromises(workload, server, database);
    expect(await service.stop()).toBe(0);
  });
});

describe('A locked table', () => {
  it.each([
    { signal: 'SIGTERM', status: 0, answer: refusal(503) },
    { signal: 'SIGKILL', status: null, answer: undefined },
  ] as const)('lets $signal end the service, and no backend is left', async ({ signal, status, answer }) => {
    const { service, url } = await directory.start(variables);
    await lock('plants');
    const waiting = create(url).catch(() => undefined);
    await aStatementWaits();

    const stopped = service.stop(signal);
    expect(await waiting).toEqual(answer);
    expect(await stopped).toBe(status);
    // The server ends the statement of a killed service after STORE_TIMEOUT.
    await noBackend();
    expect(sessions.most).toBeLessThanOrEqual(1 + CONNECTIONS);
  });
});

describe('A commit that waits for a synchronous standby', () => {
  it('lets SIGTERM end the service, and its client has error 503', async () => {
    const { service, url } = await directory.start(variables);
    await configure("SET synchronous_standby_names = 'absent'");
    try {
      const waiting = create(url);
      const commits = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      await until('the commit waits for the standby', async () => (await server.query(commits)).length > 0);

      const stopped = service.stop();
      expect(await waiting).toEqual(refusal(503));
      expect(await stopped).toBe(0);
    } finally {
      await configure('RESET synchronous_standby_names');
    }
  });
});
