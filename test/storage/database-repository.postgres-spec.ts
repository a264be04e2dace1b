import pg from 'pg';
import { DATABASE_DEFAULTS, engineOf, openRepository } from '../../src/storage/engines.js';
import { type PlantRepository, RepositoryUnavailableError } from '../../src/storage/plant-repository.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { nameOf } from '../support/postgres-history.js';
import { until } from '../support/until.js';

/** Ends the other connections to a database. */
const DISCONNECT =
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity ' +
  'WHERE datname = current_database() AND pid <> pg_backend_pid()';

let server: PostgresServer;
let url: string;

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(async () => {
  url = await server.createDatabase();
});

afterAll(() => server.remove());

function query(text: string): Promise<object[]> {
  return server.query(text, nameOf(url));
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
    await query(DISCONNECT);

    await repository.add([
      { id: 1n, name: 'Monstera' },
      { id: 2n, name: 'Ficus' },
    ]);

    expect(await query('SELECT setting FROM commits')).toEqual([{ setting: atCommit }, { setting: atCommit }]);
  });

  it('stores quotation marks and backslashes as they are where standard_conforming_strings is off', async () => {
    await repository.close();
    await query(`ALTER DATABASE ${nameOf(url)} SET standard_conforming_strings = off`);
    repository = await openRepository(url);
    const name = `'; DROP TABLE plants; -- \\' \\\\ \\x27 "$1" E'\\n' \u2019 \ufeff`;

    expect(await repository.add([{ id: 1n, name }])).toEqual(['created']);
    expect(await query('SELECT name FROM plants')).toEqual([{ name }]);
  });

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

  it('repeats a plant that is passed twice in a batch', async () => {
    const plant = { id: 1n, name: 'Monstera' };

    expect(await repository.add([plant, plant])).toEqual(['created', 'repeated']);
  });

  it('refuses a plant that a trigger keeps out, which was made later', async () => {
    await query(`
      CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
      CREATE TRIGGER skipping BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION skip();
    `);

    await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow('look at the triggers of the table');
  });

  it('refuses a plant that a CHECK of the operator refuses, which is no failure of the store', async () => {
    await query("ALTER TABLE plants ADD CONSTRAINT ours CHECK (name <> 'Monstera')");
    const error = await repository.add([{ id: 1n, name: 'Monstera' }]).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ message: expect.stringContaining('"ours"') as unknown });
    expect(error).not.toBeInstanceOf(RepositoryUnavailableError);
  });

  it('writes nothing in a check, which fails where the service could not write', async () => {
    // A transaction that writes takes an id.
    const nextId = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next';
    const before = await query(nextId);
    await repository.check?.();
    expect(await query(nextId)).toEqual(before);

    for (const [change, undo, reason] of [
      [
        'ALTER TABLE plants RENAME TO hidden',
        'ALTER TABLE hidden RENAME TO plants',
        'relation "plants" does not exist',
      ],
      ['ALTER TABLE plants RENAME tag TO kind', 'ALTER TABLE plants RENAME kind TO tag', 'column "tag"'],
    ] as const) {
      await query(change);
      const checked = repository.check?.();
      await expect(checked).rejects.toThrow(RepositoryUnavailableError);
      await expect(checked).rejects.toThrow(reason);
      await query(undo);
    }
  });

  it('says in one line why it takes no snapshot', async () => {
    await server.query(`ALTER DATABASE ${nameOf(url)} ALLOW_CONNECTIONS false`);
    const snapshot = repository.snapshot?.();

    await expect(snapshot).rejects.toThrow(RepositoryUnavailableError);
    await expect(snapshot).rejects.toThrow(
      new RegExp(`^the database postgres://localhost/${nameOf(url)} cannot be used: database [^:;]+ connections$`),
    );
  });

  it('gives up on a locked row when the server has ended the statement', async () => {
    const timeout = 2_000;
    const impatient = await openRepository(url, { timeout });
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query("BEGIN; INSERT INTO plants VALUES (1, 'locked')");

    try {
      const before = performance.now();
      await expect(impatient.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(
        'the database cannot be used: canceling statement due to statement timeout',
      );
      expect(performance.now() - before).toBeLessThan(timeout + 500);
    } finally {
      await other.end();
      await impatient.close();
    }
  });

  it('does not change the type parsers of other users of the driver', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);

    expect(await query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
  });
});

describe('a server that cannot be reached', () => {
  // Node tries all addresses of a name, and has an error without a message for them.
  it.each(['127.0.0.1', 'localhost'])('ends the start after its timeout, with the reason: %s', async (host) => {
    const message = /^the database postgres:\/\/\S+:1\/plants cannot be used: connect ECONNREFUSED .+:1$/;
    const reasons: string[] = [];
    const options = { startTimeout: 600, onWait: (reason: string) => void reasons.push(reason) };
    const before = performance.now();

    await expect(openRepository(`postgres://u@${host}:1/plants`, options)).rejects.toThrow(message);
    expect(performance.now() - before).toBeLessThan(DATABASE_DEFAULTS.startTimeout / 2);
    // Twice at least, it has failed: a pause is not longer than 500 ms.
    expect(reasons).toEqual([expect.stringMatching(message)]);
  });
});

describe('the schema of PostgreSQL', () => {
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

  const TAKEN_OVER = ['repeated', 'repeated', 'conflict'];
  const NEW = ['created', 'created', 'conflict'];

  it('is numbered in a table, and stays as it is when the database is opened again', async () => {
    expect(await outcomes()).toEqual(NEW);
    expect(await outcomes()).toEqual(TAKEN_OVER);

    expect(await query('SELECT version FROM plant_store_schema')).toEqual([{ version: 1 }]);
  });

  it('has the columns that the guide to the data names', async () => {
    await outcomes();
    const ofPlants = "table_name = 'plants' ORDER BY ordinal_position";
    const columns = 'column_name AS name, data_type AS type, is_nullable AS nullable';

    expect(await query(`SELECT ${columns} FROM information_schema.columns WHERE ${ofPlants}`)).toEqual([
      { name: 'id', type: 'bigint', nullable: 'NO' },
      { name: 'name', type: 'text', nullable: 'NO' },
      { name: 'tag', type: 'text', nullable: 'YES' },
    ]);
  });

  it('is checked, and stays as it is', async () => {
    expect(await (await engineOf(url)).check(DATABASE_DEFAULTS)).toBe(false);
    expect(await query("SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);

    await outcomes();
    expect(await (await engineOf(url)).check(DATABASE_DEFAULTS)).toBe(true);
    expect(await query('SELECT FROM plants')).toHaveLength(2);
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

  it('is refused when it is newer than the program', async () => {
    await outcomes();
    await query('INSERT INTO plant_store_schema VALUES (9999)');

    await expect(openRepository(url)).rejects.toThrow(
      `the database postgres://localhost/${nameOf(url)} cannot be used: it has a schema that is newer than this version; ` +
        'run the version that made it, or a newer one',
    );
  });

  it('is refused, with the next step, when its table is gone', async () => {
    await outcomes();
    await query('DROP TABLE plants');
    const message = 'cannot be used: relation "plants" does not exist';

    await expect(openRepository(url)).rejects.toThrow(message);
    await expect((await engineOf(url)).check(DATABASE_DEFAULTS)).rejects.toThrow(message);
  });

  it('can exist in several schemas of one database, each with its own plants', async () => {
    await query('CREATE TABLE plants (id text PRIMARY KEY); CREATE SCHEMA one; CREATE SCHEMA two');

    expect(await outcomes(inSchema('one'))).toEqual(NEW);
    expect(await outcomes(inSchema('two'))).toEqual(NEW);
  });

  it('is refused when no schema of search_path exists', async () => {
    await expect(openRepository(inSchema('plant_store'))).rejects.toThrow(
      `the database postgres://localhost/${nameOf(url)} cannot be used: no schema has been selected to create in`,
    );
  });

  it('is read without waiting for a lock for longer than the timeout', async () => {
    await outcomes();
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query('BEGIN; LOCK TABLE plants IN ACCESS EXCLUSIVE MODE');
    const began = performance.now();

    await expect((await engineOf(url)).snapshot({ timeout: 1_000, startTimeout: 1_000 })).rejects.toThrow(
      `the database postgres://localhost/${nameOf(url)} cannot be used: canceling statement due to lock timeout`,
    );
    expect(performance.now() - began).toBeLessThan(5_000);
    await other.end();
  });

  it('is read by queries and after pauses that take longer than an operator allows other programs', async () => {
    await outcomes();
    await query(`
      ALTER TABLE plants RENAME TO stored; CREATE VIEW plants AS SELECT stored.* FROM stored, pg_sleep(0.5);
      ALTER DATABASE ${nameOf(url)} SET statement_timeout = 100;
      ALTER DATABASE ${nameOf(url)} SET idle_in_transaction_session_timeout = 100;
      DO $$ BEGIN
        ALTER DATABASE ${nameOf(url)} SET transaction_timeout = 400;
      EXCEPTION WHEN undefined_object THEN -- PostgreSQL before 17 has no such limit.
      END $$;
    `);
    const snapshot = await (await engineOf(url)).snapshot(DATABASE_DEFAULTS);

    expect(await snapshot.count()).toBe(2);
    const counted = performance.now();
    await until('the pause has been long', () => performance.now() - counted > 300);
    expect(await snapshot.count()).toBe(2);
    await snapshot.close();
  });

  it('is read by queries that take longer than the timeout', async () => {
    await outcomes();
    await query(
      'ALTER TABLE plants RENAME TO stored; CREATE VIEW plants AS SELECT stored.* FROM stored, pg_sleep(0.5)',
    );
    const snapshot = await (await engineOf(url)).snapshot({ timeout: 250, startTimeout: 1_000 });

    expect(await snapshot.count()).toBe(2);
    await snapshot.close();
  });

  it('is taken over with columns that need no value', async () => {
    await outcomes();
    await query(
      'ALTER TABLE plants ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY, ADD COLUMN note text, ' +
        'ADD COLUMN created timestamptz NOT NULL DEFAULT now(), DROP CONSTRAINT plants_pkey, ADD UNIQUE (id)',
    );

    expect(await outcomes()).toEqual(TAKEN_OVER);
  });
});
