import pg from 'pg';
import { openRepository } from '../../src/storage/open-repository.js';
import type { PlantRepository } from '../../src/storage/plant-repository.js';
import { PostgresServer } from '../support/postgres.js';
import { until } from '../support/until.js';

describe('the PostgreSQL repository', () => {
  let server: PostgresServer;
  let url: string;
  let database: string;
  let repository: PlantRepository;

  beforeAll(async () => {
    server = await PostgresServer.start();
  });

  beforeEach(async () => {
    url = await server.createDatabase();
    database = new URL(url).pathname.slice(1);
    repository = await openRepository(url);
  });

  afterEach(() => repository.close());

  afterAll(() => server.remove());

  const query = <Row extends object>(text: string): Promise<Row[]> => server.query<Row>(text, database);

  it.each([
    ['plant-store', ''],
    ['greenhouse', '&application_name=greenhouse'],
  ])('is shown as %s in pg_stat_activity with the parameters "%s"', async (name, parameters) => {
    const named = await openRepository(`${url}${parameters}`);

    expect(
      await query(
        `SELECT count(*)::int FROM pg_stat_activity WHERE datname = '${database}' AND application_name = '${name}'`,
      ),
    ).toEqual([{ count: 1 + Number(parameters === '') }]);
    await named.close();
  });

  it.each([
    ['off', 'on'],
    ['local', 'local'],
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
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    await query(`ALTER DATABASE ${database} SET synchronous_commit = ${setting}`);
    // The setting applies to new connections.
    await query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND pid <> pg_backend_pid()`,
    );

    expect(
      await repository.add([
        { id: 1n, name: 'Monstera' },
        { id: 2n, name: 'Ficus' },
        { id: 3n, name: 'Aloe' },
      ]),
    ).toEqual(['repeated', 'created', 'created']);

    expect(await query('SELECT setting FROM commits')).toEqual([
      { setting: 'on' },
      ...Array.from({ length: 2 }, () => ({ setting: atCommit })),
    ]);
  });

  it.each(['on', 'off'])(
    'stores quotation marks and backslashes as they are where standard_conforming_strings is %s',
    async (setting) => {
      await repository.close();
      await query(`ALTER DATABASE ${database} SET standard_conforming_strings = ${setting}`);
      repository = await openRepository(url);
      const name = `'; DROP TABLE plants; -- \\' \\\\ \\x27 "$1" E'\\n' \u2019 \ufeff`;
      const plant = { id: 1n, name, tag: "\\'" };

      expect(await repository.add([plant])).toEqual(['created']);
      expect(await repository.add([plant])).toEqual(['repeated']);
      expect(await query('SELECT name, tag FROM plants')).toEqual([{ name, tag: plant.tag }]);
    },
  );

  it('fails with the error itself for an id beyond int64, stores nothing of the batch, and still works afterwards', async () => {
    await expect(
      repository.add([
        { id: 1n, name: 'Monstera' },
        { id: 2n ** 63n, name: 'an id beyond int64' },
      ]),
    ).rejects.toMatchObject({ code: '22003' });

    expect(await repository.add([{ id: 1n, name: 'Ficus' }])).toEqual(['created']);
  });

  it('adds a large batch although another program takes one of its ids meanwhile', async () => {
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
    expect(outcomes.flatMap((outcome, index) => (outcome === 'created' ? [] : [[index, outcome]]))).toEqual([
      [7, 'conflict'],
      [8, 'repeated'],
    ]);
    expect(await query('SELECT count(*) FROM plants')).toEqual([{ count: '1000' }]);
  });

  it('does not change the type parsers of other users of the driver', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);

    expect(await query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
  });
});
