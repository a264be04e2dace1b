import { checkStore, DATABASE_DEFAULTS, openRepository } from '../../src/storage/open-repository.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { nameOf } from '../support/postgres-history.js';

const OPTIONS = { startTimeout: 10_000 };

describe('the schema of PostgreSQL', () => {
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

  /** Returns a URL whose connections have this search_path. */
  function inSchema(name: string): string {
    return `${url}&options=-csearch_path=${name}`;
  }

  /** Opens the database, and stores plants. */
  async function outcomes(at = url): Promise<readonly string[]> {
    const repository = await openRepository(at, OPTIONS);
    try {
      return await repository.add([
        { id: 1n, name: 'Monstera', tag: 'indoor' },
        { id: 2n ** 63n - 1n, name: "Bird's nest fern \u{1fab4}", tag: '' },
        { id: 1n, name: 'Ficus' },
      ]);
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

  it('is created once by many instances that start at the same time', async () => {
    const repositories = await Promise.all(Array.from({ length: 12 }, () => openRepository(url, OPTIONS)));
    await Promise.all(repositories.map((repository) => repository.close()));

    expect(await query('SELECT version FROM plant_store_schema')).toEqual([{ version: 1 }]);
  });

  it('requires SELECT on plant_store_schema once that exists', async () => {
    await outcomes();
    await query(`CREATE ROLE writer LOGIN PASSWORD '${decodeURIComponent(PASSWORD)}'`);
    await query('GRANT SELECT, INSERT ON plants TO writer');
    const asWriter = url.replace('//postgres:', '//writer:');

    await expect(outcomes(asWriter)).rejects.toThrow(/denies this user a privilege that it needs/);
    await query('GRANT SELECT ON plant_store_schema TO writer');
    expect(await outcomes(asWriter)).toEqual(TAKEN_OVER);
  });

  it('is refused when it is newer than the program', async () => {
    await outcomes();
    await query('INSERT INTO plant_store_schema VALUES (9999)');

    await expect(openRepository(url, OPTIONS)).rejects.toThrow(
      `the database postgres://localhost/${nameOf(url)} has a schema that is newer than this version; ` +
        'run the version that made it, or a newer one',
    );
  });

  it.each<[table: string, reason: string]>([
    // A table of TypeORM with a generated key.
    ['(id serial PRIMARY KEY, name varchar NOT NULL, tag varchar)', 'is out of range for type integer'],
    ['(id bigint PRIMARY KEY, species text)', 'column "name" of relation "plants" does not exist'],
    ['(id text PRIMARY KEY, name text, tag text)', 'it changes values'],
    ['(id bigint, name text, tag text, PRIMARY KEY (id, name))', 'no unique or exclusion constraint'],
    ['(id bigint PRIMARY KEY, name text, tag text NOT NULL)', 'null value in column "tag"'],
  ])('is refused when there is a table of another program: %s', async (table, reason) => {
    await query(`CREATE TABLE plants ${table}`);
    const message = new RegExp(
      `^the database postgres://localhost/${nameOf(url)} has a table of another program: .*${reason}.*; ` +
        "create a schema for the service's tables, and name it in the URL: \\?options=-csearch_path=plant_store$",
    );

    await expect(openRepository(url, OPTIONS)).rejects.toThrow(message);
    await expect(checkStore(url, DATABASE_DEFAULTS)).rejects.toThrow(message);
    expect(await query("SELECT to_regclass('plant_store_schema') AS found")).toEqual([{ found: null }]);
  });

  it('can exist in several schemas of one database, each with its own plants', async () => {
    await query('CREATE TABLE plants (id text PRIMARY KEY); CREATE SCHEMA one; CREATE SCHEMA two');

    expect(await outcomes(inSchema('one'))).toEqual(NEW);
    expect(await outcomes(inSchema('two'))).toEqual(NEW);
  });

  it('is refused when no schema of search_path exists', async () => {
    await expect(openRepository(inSchema('plant_store'), OPTIONS)).rejects.toThrow(
      `the database postgres://localhost/${nameOf(url)} has none of the schemas in search_path; ` +
        'create one with CREATE SCHEMA',
    );
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
