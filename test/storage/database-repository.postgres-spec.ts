/**
 * What is particular to the repository and the schema on PostgreSQL; plant-repository.spec.ts has what both engines
 * promise.
 */
import pg from 'pg';
import { OperatorError } from '../../src/operator-error.js';
import { readDatabaseUrl, type PostgresUrl } from '../../src/storage/database-url.js';
import { DATABASE_DEFAULTS } from '../../src/storage/engine.js';
import { engineOf, openRepository } from '../../src/storage/engines.js';
import { type PlantRepository, RepositoryUnavailableError } from '../../src/storage/plant-repository.js';
import { PostgresPool } from '../../src/storage/postgres/pool.js';
import { PostgresRepository } from '../../src/storage/postgres/repository.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { nameOf } from '../support/postgres-history.js';
import { until } from '../support/until.js';

let server: PostgresServer;
let url: string;
/** Another user of the database. */
let other: pg.Client;

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(async () => {
  url = await server.createDatabase();
  other = new pg.Client({ connectionString: url });
  await other.connect();
});

afterEach(() => other.end());

afterAll(() => server.remove());

async function query(text: string): Promise<object[]> {
  return (await other.query<object>(text)).rows;
}

describe('the PostgreSQL repository', () => {
  let repository: PlantRepository;

  beforeEach(async () => {
    repository = await openRepository(url);
  });

  afterEach(() => repository.close());

  it('is shown in pg_stat_activity as plant-store, or with the name in its URL', async () => {
    const greenhouse = await openRepository(`${url}&application_name=greenhouse`);
    const others = 'datname = current_database() AND pid <> pg_backend_pid()';

    expect(await query(`SELECT application_name AS name FROM pg_stat_activity WHERE ${others} ORDER BY name`)).toEqual([
      { name: 'greenhouse' },
      { name: 'plant-store' },
    ]);
    await greenhouse.close();
  });

  it.each([
    ['database', 'off', 'on'],
    ['database', 'local', 'local'],
    ['database', 'remote_apply', 'remote_apply'],
    // It takes precedence over the setting of the database.
    ['role', 'off', 'on'],
  ])('commits plants with synchronous_commit not off where the %s changes to %s', async (owner, setting, atCommit) => {
    // A deferred trigger runs at the commit.
    await query(`
      CREATE TABLE commits (setting text);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO commits VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER noting AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION note();
    `);
    const changed = owner === 'role' ? `ROLE postgres IN DATABASE ${nameOf(url)}` : `DATABASE ${nameOf(url)}`;
    await query(`ALTER ${changed} SET synchronous_commit = ${setting}`);
    // The setting applies to new connections.
    await query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity ' +
        'WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );

    await repository.add([{ id: 1n, name: 'Monstera' }]);

    expect(await query('SELECT setting FROM commits')).toEqual([{ setting: atCommit }]);
  });

  // Behind a pooler, another program may have the session next.
  it('leaves the setting of the session as it is', async () => {
    await query(`ALTER DATABASE ${nameOf(url)} SET synchronous_commit = off`);
    const pool = new PostgresPool(pg, readDatabaseUrl(url) as PostgresUrl, 10_000);

    await new PostgresRepository(pool, 10_000).add([{ id: 1n, name: 'Monstera' }]);

    expect(await pool.transact('SHOW synchronous_commit')).toEqual([['off']]);
    await pool.close();
  });

  it('stores quotation marks and backslashes as they are where standard_conforming_strings is off', async () => {
    await repository.close();
    await query(`ALTER DATABASE ${nameOf(url)} SET standard_conforming_strings = off`);
    repository = await openRepository(url);
    const name = `'; DROP TABLE plants; -- \\' \\\\ \\x27 "$1" E'\\n' \u2019 \ufeff`;

    expect(await repository.add([{ id: 1n, name }])).toEqual(['created']);
    expect(await query('SELECT name FROM plants')).toEqual([{ name }]);
  });

  it.each<[string, (text: string) => unknown]>([
    ['number', Number],
    ['bigint', BigInt],
  ])('has exact ids in an application whose driver parses int8 as a %s', async (_type, parse) => {
    const plants = [-(2n ** 63n), 0n, 9_007_199_254_740_993n].map((id) => ({ id, name: 'Monstera' }));
    const { INT8 } = pg.types.builtins;
    const before = pg.types.getTypeParser(INT8) as (text: string) => unknown;
    pg.types.setTypeParser(INT8, parse);
    try {
      expect(await repository.add(plants)).toEqual(['created', 'created', 'created']);
      expect(await repository.add(plants)).toEqual(['repeated', 'repeated', 'repeated']);
      const read = [];
      for await (const plant of (await engineOf(url)).plants(DATABASE_DEFAULTS)) read.push(plant);
      expect(read).toEqual(plants);
    } finally {
      pg.types.setTypeParser(INT8, before);
    }
  });

  it('adds a large batch, and can be checked, while another program takes some of its ids', async () => {
    const batch = Array.from({ length: 1_000 }, (_, index) => ({ id: BigInt(index), name: 'Monstera' }));
    await query("BEGIN; INSERT INTO plants VALUES (7, 'Ficus'), (8, 'Monstera')");
    const added = repository.add(batch);
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await until('it waits for the lock', async () => (await server.query(waiting, nameOf(url))).length > 0);
    await repository.check?.();
    await query('COMMIT');

    const outcomes = await added;
    expect(outcomes.slice(7, 9)).toEqual(['conflict', 'repeated']);
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(998);
  });

  it('gives up on a locked row when the server has ended the statement', async () => {
    const timeout = 2_000;
    const impatient = await openRepository(url, { timeout });
    await query("BEGIN; INSERT INTO plants VALUES (1, 'locked')");
    const began = performance.now();

    const added = impatient.add([{ id: 1n, name: 'Monstera' }]);
    await expect(added).rejects.toThrow('the database cannot be used: canceling statement due to statement timeout');
    expect(performance.now() - began).toBeLessThan(timeout + 500);
    await impatient.close();
  });

  it('writes nothing in a check, which fails where the service could not write', async () => {
    // A transaction that writes takes an id.
    const nextId = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next';
    const before = await query(nextId);
    await repository.check?.();
    expect(await query(nextId)).toEqual(before);

    await query('ALTER TABLE plants RENAME tag TO kind');
    const checked = repository.check?.();
    await expect(checked).rejects.toThrow(RepositoryUnavailableError);
    await expect(checked).rejects.toThrow('column "tag"');
  });
});

describe('the schema of PostgreSQL', () => {
  const TAKEN_OVER = ['repeated', 'repeated', 'conflict'];
  const NEW = ['created', 'created', 'conflict'];

  /** Returns a URL whose connections have this search_path. */
  function inSchema(name: string): string {
    return `${url}&options=-csearch_path=${name}`;
  }

  /** Opens the database, and stores plants. */
  async function outcomes(at = url): Promise<readonly string[]> {
    const repository = await openRepository(at);
    try {
      const first = await repository.add([
        { id: 1n, name: 'Monstera', tag: 'indoor' },
        { id: 2n ** 63n - 1n, name: "Bird's nest fern \u{1fab4}", tag: '' },
      ]);
      return [...first, ...(await repository.add([{ id: 1n, name: 'Ficus' }]))];
    } finally {
      await repository.close();
    }
  }

  it('has the columns that the guide to the data names, and stays as it is when it is opened again', async () => {
    expect(await outcomes()).toEqual(NEW);
    expect(await outcomes()).toEqual(TAKEN_OVER);

    expect(await query('SELECT version FROM plant_store_schema')).toEqual([{ version: 1 }]);
    const ofPlants = "table_name = 'plants' ORDER BY ordinal_position";
    const columns = 'column_name AS name, data_type AS type, is_nullable AS nullable';
    expect(await query(`SELECT ${columns} FROM information_schema.columns WHERE ${ofPlants}`)).toEqual([
      { name: 'id', type: 'bigint', nullable: 'NO' },
      { name: 'name', type: 'text', nullable: 'NO' },
      { name: 'tag', type: 'text', nullable: 'YES' },
    ]);
  });

  it('is inspected, and stays as it is', async () => {
    expect(await (await engineOf(url)).inspect(DATABASE_DEFAULTS)).toBe('new');
    expect(await query("SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);

    await outcomes();
    expect(await (await engineOf(url)).inspect(DATABASE_DEFAULTS)).toBe('present');
    expect(await query('SELECT FROM plants')).toHaveLength(2);
  });

  it.each([
    ['it is newer than the program', 'INSERT INTO plant_store_schema VALUES (9999)', 'it has a schema that is newer'],
    ['its table is gone', 'DROP TABLE plants', 'relation "plants" does not exist'],
  ])('is refused when %s', async (_, change, reason) => {
    await outcomes();
    await query(change);
    const engine = await engineOf(url);

    const uses = [
      () => engine.open(DATABASE_DEFAULTS),
      () => engine.plants(DATABASE_DEFAULTS).next(),
      () => engine.inspect(DATABASE_DEFAULTS),
    ];
    for (const use of uses) {
      await expect(use()).rejects.toThrow(`the database postgres://localhost/${nameOf(url)} cannot be used: ${reason}`);
    }
  });

  it('requires SELECT on plant_store_schema once that exists', async () => {
    await outcomes();
    await query(`CREATE ROLE writer LOGIN PASSWORD '${decodeURIComponent(PASSWORD)}'`);
    await query('GRANT SELECT, INSERT ON plants TO writer');
    const asWriter = url.replace('//postgres:', '//writer:');

    await expect(outcomes(asWriter)).rejects.toThrow('permission denied for table plant_store_schema');
    await query('GRANT SELECT ON plant_store_schema TO writer');
    expect(await outcomes(asWriter)).toEqual(TAKEN_OVER);
  });

  it('can exist in several schemas of one database, each with its own plants', async () => {
    await query('CREATE TABLE plants (id text PRIMARY KEY); CREATE SCHEMA one; CREATE SCHEMA two');

    expect(await outcomes(inSchema('one'))).toEqual(NEW);
    expect(await outcomes(inSchema('two'))).toEqual(NEW);
  });

  it('may have further columns that need no value', async () => {
    await outcomes();
    await query(
      'ALTER TABLE plants ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY, ADD COLUMN note text, ' +
        'ADD COLUMN created timestamptz NOT NULL DEFAULT now(), DROP CONSTRAINT plants_pkey, ADD UNIQUE (id)',
    );

    expect(await outcomes()).toEqual(TAKEN_OVER);
  });
});

describe('reading the plants of PostgreSQL', () => {
  /** More than one message brings. */
  const PLANTS = Array.from({ length: 100 }, (_, index) => ({ id: BigInt(index), name: 'Monstera' }));

  beforeEach(async () => {
    const repository = await openRepository(url);
    await repository.add(PLANTS);
    await repository.close();
  });

  it('does not wait for a lock for longer than the timeout', async () => {
    await query('BEGIN; LOCK TABLE plants IN ACCESS EXCLUSIVE MODE');
    const began = performance.now();

    await expect((await engineOf(url)).plants({ timeout: 1_000, startTimeout: 1_000 }).next()).rejects.toThrow(
      `the database postgres://localhost/${nameOf(url)} cannot be used: canceling statement due to lock timeout`,
    );
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it('fails with one error for the operator when the server ends its session meanwhile', async () => {
    const plants = (await engineOf(url)).plants(DATABASE_DEFAULTS);
    await plants.next();
    const sessions = "FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'";
    await query(`SELECT pg_terminate_backend(pid) ${sessions}`);
    await until('the session has ended', async () => (await query(`SELECT ${sessions}`)).length === 0);

    // The last plant of the message that has come is followed by a query.
    const read = async (): Promise<void> => {
      for await (const plant of plants) expect(plant.name).toBe('Monstera');
    };
    await expect(read()).rejects.toThrow(OperatorError);
  });

  it('takes queries and pauses that are longer than the timeout, and than an operator allows others', async () => {
    await query(`
      ALTER TABLE plants RENAME TO stored; CREATE VIEW plants AS SELECT stored.* FROM stored, pg_sleep(0.5);
      ALTER DATABASE ${nameOf(url)} SET statement_timeout = 100;
      ALTER DATABASE ${nameOf(url)} SET idle_in_transaction_session_timeout = 100;
      DO $$ BEGIN
        ALTER DATABASE ${nameOf(url)} SET transaction_timeout = 400;
      EXCEPTION WHEN undefined_object THEN -- PostgreSQL before 17 has no such limit.
      END $$;
    `);
    const plants = (await engineOf(url)).plants({ timeout: 250, startTimeout: 1_000 });

    await plants.next();
    const paused = performance.now();
    await until('the pause has been long', () => performance.now() - paused > 300);
    let further = 0;
    for await (const plant of plants) further += plant.name.length > 0 ? 1 : 0;
    expect(further).toBe(PLANTS.length - 1);
  });
});
