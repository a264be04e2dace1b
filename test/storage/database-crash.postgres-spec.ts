import { PostgresServer } from '../support/postgres.js';
import { expectKeptPromises, nameOf, runFaults } from '../support/postgres-history.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();
let server: PostgresServer;
let database: string;

beforeAll(async () => {
  server = await PostgresServer.start();
  await server.stop();
  // A server that does not wait for the disk writes its log this late.
  await server.restart(['-c', 'wal_writer_delay=10s']);
});

beforeEach(async () => {
  database = await server.createDatabase();
});

afterAll(() => server.remove());

describe('synchronous_commit = off while the service runs', () => {
  it.each<[string, (setting: string) => string]>([
    ['the server', (setting) => `ALTER SYSTEM ${setting}`],
    ['the database', (setting) => `ALTER DATABASE ${nameOf(database)} ${setting}`],
    ['the role', (setting) => `ALTER ROLE postgres ${setting}`],
  ])('for %s loses no acknowledged plant when the server crashes', async (what, alter) => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, DATABASE_URL: database });

    const workload = await runFaults(`synchronous_commit off for ${what}, and a crash`, [url], async (running) => {
      await server.query(alter('SET synchronous_commit = off'));
      // New connections take the setting of the database and the role.
      await server.query(
        `SELECT pg_reload_conf(), pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${nameOf(database)}'`,
      );
      await running.acknowledged(200);
    });
    await server.kill();
    await server.restart(['-c', 'wal_writer_delay=10s']);

    await expectKeptPromises(workload, server, database);
    expect(await service.stop()).toBe(0);
    await server.query(alter('RESET synchronous_commit'));
    await server.query('SELECT pg_reload_conf()');
  });
});
