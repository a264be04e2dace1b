import pg from 'pg';
import { openRepository } from '../../src/storage/open-repository.js';
import type { PlantRepository } from '../../src/storage/plant-repository.js';
import { PostgresServer } from '../support/postgres.js';
import { nameOf } from '../support/postgres-history.js';
import { until } from '../support/until.js';

describe('the PostgreSQL repository', () => {
  let server: PostgresServer;
  let url: string;
  let repository: PlantRepository;

  beforeAll(async () => {
    server = await PostgresServer.start();
  });

  beforeEach(async () => {
    url = await server.createDatabase();
    repository = await openRepository(url);
  });

  afterEach(() => repository.close());

  afterAll(() => server.remove());

  function query(text: string): Promise<object[]> {
    return server.query(text, nameOf(url));
  }

  it.each([
    ['plant-store', ''],
    ['greenhouse', '&application_name=greenhouse'],
  ])('is shown as %s in pg_stat_activity with the parameters "%s"', async (name, parameters) => {
    await repository.close();
    repository = await openRepository(`${url}${parameters}`);

    const named = `datname = '${nameOf(url)}' AND application_name = '${name}'`;
    expect(await query(`SELECT FROM pg_stat_activity WHERE ${named}`)).toHaveLength(1);
  });

  it.each([
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('commits plants with synchronous_commit not off where the database changes to %s', async (setting, atCommit) => {
    // A deferred trigger runs at the commit.
    await query(`
      CREATE TABLE commits (setting text);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO commits VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER noting AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION note();
    `);
    await query(`ALTER DATABASE ${nameOf(url)} SET synchronous_commit = ${setting}`);
    // The setting applies to new connections.
    await query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity ' +
        'WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );

    await repository.add([
      { id: 1n, name: 'Monstera' },
      { id: 2n, name: 'Ficus' },
    ]);

    expect(await query('SELECT setting FROM commits')).toEqual([{ setting: atCommit }, { setting: atCommit }]);
  });

  it.each(['on', 'off'])(
    'stores quotation marks and backslashes as they are where standard_conforming_strings is %s',
    async (setting) => {
      await repository.close();
      await query(`ALTER DATABASE ${nameOf(url)} SET standard_conforming_strings = ${setting}`);
      repository = await openRepository(url);
      const name = `'; DROP TABLE plants; -- \\' \\\\ \\x27 "$1" E'\\n' \u2019 \ufeff`;
      const plant = { id: 1n, name, tag: "\\'" };

      expect(await repository.add([plant])).toEqual(['created']);
      expect(await repository.add([plant])).toEqual(['repeated']);
      expect(await query('SELECT name, tag FROM plants')).toEqual([{ name, tag: plant.tag }]);
    },
  );

  it('adds a large batch although another program takes some of its ids meanwhile', async () => {
    const batch = Array.from({ length: 1_000 }, (_, index) => ({ id: BigInt(index), name: 'Monstera' }));
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query("BEGIN; INSERT INTO plants VALUES (7, 'Ficus'), (8, 'Monstera')");
    const added = repository.add(batch);
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await until('it waits for the lock', async () => (await query(waiting)).length > 0);

    await other.query('COMMIT');
    await other.end();

    const outcomes = await added;
    expect(outcomes.slice(7, 9)).toEqual(['conflict', 'repeated']);
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(998);
    expect(await query('SELECT FROM plants')).toHaveLength(1_000);
  });

  it('does not change the type parsers of other users of the driver', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);

    expect(await query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
  });
});
