import { openRepository } from '../../src/storage/open-repository.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';

const OPTIONS = { startTimeout: 10_000 };

describe('the schema of PostgreSQL', () => {
  let server: PostgresServer;
  let url: string;
  let database: string;

  beforeAll(async () => {
    server = await PostgresServer.start();
  });

  beforeEach(async () => {
    url = await server.createDatabase();
    database = new URL(url).pathname.slice(1);
  });

  afterAll(() => server.remove());

  /** Opens the database with a parameter of the URL changed. */
  async function outcomes(change: (url: URL) => unknown = () => undefined): Promise<readonly string[]> {
    const changed = new URL(url);
    change(changed);
    const repository = await openRepository(changed.href, OPTIONS);
    try {
      return await repository.add([
        { id: -(2n ** 63n), name: 'Aloe vera' },
        { id: 1n, name: 'Monstera', tag: 'indoor' },
        { id: 9007199254740993n, name: "Bird's nest fern \u{1fab4}", tag: '' },
        { id: 2n ** 63n - 1n, name: '', tag: 'e\u0301t\u00e9' },
        { id: 1n, name: 'Ficus' },
        { id: 2n, name: 'Ficus' },
      ]);
    } finally {
      await repository.close();
    }
  }

  const TAKEN_OVER = ['repeated', 'repeated', 'repeated', 'repeated', 'conflict'];
  const NEW = ['created', 'created', 'created', 'created', 'conflict', 'created'];

  it('is numbered in a table, and stays as it is when the database is opened again', async () => {
    expect(await outcomes()).toEqual(NEW);
    expect(await outcomes()).toEqual([...TAKEN_OVER, 'repeated']);

    expect(await server.query('SELECT version FROM plant_store_schema', database)).toEqual([{ version: 1 }]);
  });

  it('is created once by many instances that start at the same time', async () => {
    const repositories = await Promise.all(Array.from({ length: 12 }, () => openRepository(url, OPTIONS)));
    await Promise.all(repositories.map((repository) => repository.close()));

    expect(await server.query('SELECT version FROM plant_store_schema', database)).toEqual([{ version: 1 }]);
  });

  it('requires SELECT on plant_store_schema once that exists', async () => {
    await outcomes();
    await server.query(
      `CREATE ROLE reader LOGIN PASSWORD '${decodeURIComponent(PASSWORD)}'; GRANT SELECT, INSERT ON plants TO reader`,
      database,
    );
    const asReader = (changed: URL): unknown => (changed.username = 'reader');

    await expect(outcomes(asReader)).rejects.toThrow(/denies this user a privilege that it needs/);
    await server.query('GRANT SELECT ON plant_store_schema TO reader', database);
    expect(await outcomes(asReader)).toEqual([...TAKEN_OVER, 'repeated']);
  });

  it('is refused when it is newer than the program', async () => {
    await outcomes();
    await server.query('INSERT INTO plant_store_schema VALUES (9999)', database);

    await expect(openRepository(url, OPTIONS)).rejects.toThrow(
      `the database postgres://localhost/${database} has a schema that is newer than this version; ` +
        'run the version that made it, or a newer one',
    );
  });

  it.each<[table: string, reason: string]>([
    // A table of TypeORM with a generated key.
    [
      '(id serial PRIMARY KEY, name character varying NOT NULL, tag character varying)',
      'is out of range for type integer',
    ],
    ['(id bigint PRIMARY KEY, species text)', 'column "name" of relation "plants" does not exist'],
    ['(id text PRIMARY KEY, name text, tag text)', 'it changes values'],
    ['(id bigint, name text, tag text, PRIMARY KEY (id, name))', 'no unique or exclusion constraint'],
    ['(id bigint PRIMARY KEY, name text, tag text, owner integer NOT NULL)', 'null value in column "owner"'],
    ['(id bigint PRIMARY KEY, name text, tag text NOT NULL)', 'null value in column "tag"'],
  ])('is refused when there is a table of another program: %s', async (table, reason) => {
    await server.query(`CREATE TABLE plants ${table}`, database);
    const message = new RegExp(
      `^the database postgres://localhost/${database} has a table of another program: [^\n]*${reason}[^\n]*; ` +
        "create a schema for the service's tables, and name it in the URL: \\?options=-csearch_path=plant_store$",
    );

    await expect(openRepository(url, OPTIONS)).rejects.toThrow(message);
    expect(await server.query("SELECT to_regclass('plant_store_schema') AS found", database)).toEqual([
      { found: null },
    ]);
    await server.query('CREATE SCHEMA plant_store', database);
    expect(await outcomes((changed) => changed.searchParams.set('options', '-csearch_path=plant_store'))).toEqual(NEW);
  });

  it('is taken over with columns that need no value', async () => {
    await outcomes();
    await server.query(
      'ALTER TABLE plants ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY, ADD COLUMN note text, ' +
        'ADD COLUMN created timestamptz NOT NULL DEFAULT now(), DROP CONSTRAINT plants_pkey, ADD UNIQUE (id)',
      database,
    );

    expect(await outcomes()).toEqual([...TAKEN_OVER, 'repeated']);
  });

  it('is refused when no schema of search_path exists', async () => {
    const changed = new URL(url);
    changed.searchParams.set('options', '-csearch_path=plant_store');

    await expect(openRepository(changed.href, OPTIONS)).rejects.toThrow(
      `the database postgres://localhost/${database} has none of the schemas in search_path; create one with CREATE SCHEMA`,
    );
  });

  it('can exist in two schemas of one database, each with its own plants', async () => {
    await server.query('CREATE SCHEMA one; CREATE SCHEMA two', database);

    for (const schema of ['one', 'two']) {
      expect(await outcomes((changed) => changed.searchParams.set('options', `-c search_path=${schema}`))).toEqual(NEW);
    }
  });
});
