/**
 * What the service promises while PostgreSQL makes its statements wait: 503 in time, few connections, a stop in time.
 */
import pg from 'pg';
import { create, refusal, TOKEN } from '../support/client.js';
import { PostgresServer, type Sessions } from '../support/postgres.js';
import { expectKeptPromises, nameOf, runFaults } from '../support/postgres-history.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { until } from '../support/until.js';
import type { Workload } from '../support/workload.js';

/** Maximum connections of the service, for batches and for checks, and that of `other`. */
const CONNECTIONS = 2 + 1;

const directory = ServiceDirectory.ofEachTest();
let server: PostgresServer;
let database: string;
let variables: Variables;
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

const LOCK = 'BEGIN; LOCK TABLE plants IN ACCESS EXCLUSIVE MODE';

/** Waits until there are so many backends. */
function backends(count: number, condition: string): Promise<void> {
  const statement = `SELECT FROM pg_stat_activity WHERE ${condition}`;
  return until(`${count} backends: ${condition}`, async () => (await server.query(statement)).length === count);
}

/** Waits until so many further requests are refused with 503. */
async function refusals(workload: Workload, count: number): Promise<void> {
  const refused = (workload.errors.get(503) ?? 0) + count;
  await workload.until(() => (workload.errors.get(503) ?? 0) >= refused);
}

/** Lets all commits wait for a synchronous standby during some work. */
async function withoutStandby(work: () => Promise<void>): Promise<void> {
  const configure = async (setting: string): Promise<void> => {
    await server.query(`ALTER SYSTEM ${setting}`);
    await server.query('SELECT pg_reload_conf()');
  };
  await configure("SET synchronous_standby_names = 'absent'");
  await work().finally(() => configure('RESET synchronous_standby_names'));
}

describe('A fault for longer than STORE_TIMEOUT under 32 clients', () => {
  it('where the table is locked takes no more connections, and breaks no promise', async () => {
    const { service, url } = await directory.start(variables);

    const workload = await runFaults('the table is locked', [url], async (running) => {
      await other.query(LOCK);
      await refusals(running, 64);
      await other.query('ROLLBACK');
    });

    expect(sessions.most).toBeLessThanOrEqual(CONNECTIONS);
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

    const workload = await runFaults('commits wait', [url], (running) =>
      withoutStandby(async () => {
        await refusals(running, 160);
        const found = await server.query(`SELECT FROM pg_stat_activity WHERE usename = '${role}'`);
        // Those of the commits that wait, and none that is refused.
        expect(found.length).toBeLessThanOrEqual(4);
      }),
    );

    await expectKeptPromises(workload, server, database);
    expect(await service.stop()).toBe(0);
  });
});

describe('A stop', () => {
  it.each([
    { signal: 'SIGTERM', status: 0, answer: refusal(503) },
    { signal: 'SIGKILL', status: null, answer: undefined },
  ] as const)('by $signal ends a service that waits for a lock, and no backend is left', async (stop) => {
    const { service, url } = await directory.start(variables);
    await other.query(LOCK);
    const waiting = create(url).catch(() => undefined);
    await backends(1, "wait_event_type = 'Lock'");

    const stopped = service.stop(stop.signal);
    expect(await waiting).toEqual(stop.answer);
    expect(await stopped).toBe(stop.status);
    // The server ends the statement of a killed service after STORE_TIMEOUT. The other user is still connected.
    await backends(1, `datname = '${nameOf(database)}'`);
    expect(sessions.most).toBeLessThanOrEqual(CONNECTIONS);
  });

  it('by SIGTERM ends a service whose commit waits for a synchronous standby', async () => {
    const { service, url } = await directory.start(variables);

    await withoutStandby(async () => {
      const waiting = create(url);
      await backends(1, "wait_event = 'SyncRep'");
      const stopped = service.stop();
      expect(await waiting).toEqual(refusal(503));
      expect(await stopped).toBe(0);
    });
  });
});
