import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { PostgresServer } from './postgres.js';
import { openSqliteFile, type SqliteFile, type SqliteValue } from './sqlite-file.js';

/** A row of the table. */
export interface Row {
  id: bigint;
  name: string;
  tag: string | null;
}

/** An empty database of the engine under test, see jest.config.js, with a client of its own. */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  /** The value of DATABASE_URL. */
  readonly url: string;
  /** Runs a statement, with `?` for each parameter. */
  query<Result extends object>(statement: string, ...parameters: SqliteValue[]): Promise<Result[]>;
  /** Returns all plants in the order of their ids. */
  rows(): Promise<Row[]>;
  close(): Promise<void>;
}

/** Creates a store; the caller closes it. */
export async function newStore(): Promise<Store> {
  return Reflect.get(globalThis, 'ENGINE') === 'postgres' ? newPostgresStore() : newSqliteStore();
}

const ALL = 'SELECT id, name, tag FROM plants ORDER BY id';

function newSqliteStore(): Store {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const file = join(directory, 'plants.db');
  let opened: SqliteFile | undefined;
  /** Opens one client for the life of the store, once the file exists. */
  const database = (): SqliteFile => {
    opened ??= openSqliteFile(file);
    // The tests need no durability.
    opened.exec('PRAGMA synchronous = OFF');
    return opened;
  };
  const query = <Result extends object>(statement: string, ...parameters: SqliteValue[]): Promise<Result[]> =>
    Promise.resolve(database().all<Result>(statement, ...parameters));
  return {
    engine: 'sqlite',
    url: `sqlite:${file}`,
    query,
    rows: () => query<Row>(ALL),
    close() {
      opened?.close();
      rmSync(directory, { recursive: true });
      return Promise.resolve();
    },
  };
}

/** The server of this spec file; the first store starts it. */
let server: Promise<PostgresServer> | undefined;

/** Stops the server of this spec file, if a store has started it. */
export async function removePostgresServer(): Promise<void> {
  await (await server)?.remove();
}

/** Unused databases: to create one takes longer than most tests. */
const free: string[] = [];

/** Creates a store; TEST_DATABASE may name an existing database, whose plants are deleted. */
async function newPostgresStore(): Promise<Store> {
  server ??= process.env.TEST_DATABASE === undefined ? PostgresServer.start() : undefined;
  const url = process.env.TEST_DATABASE ?? free.pop() ?? (await (await server)?.createDatabase()) ?? '';
  const client = new pg.Client({
    connectionString: url,
    types: {
      getTypeParser: (...type: Parameters<typeof pg.types.getTypeParser>): unknown =>
        type[0] === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(...type),
    },
  });
  await client.connect();
  const query = async <Result extends object>(statement: string, ...parameters: unknown[]): Promise<Result[]> => {
    let count = 0;
    return (
      await client.query<Result>(
        statement.replaceAll('?', () => `$${(count += 1)}`),
        parameters,
      )
    ).rows;
  };
  const [existing] = await query("SELECT 1 FROM pg_tables WHERE tablename = 'plants'");
  if (existing !== undefined) await query('DELETE FROM plants');
  return {
    engine: 'postgres',
    url,
    query,
    rows: () => query<Row>(ALL),
    async close() {
      await client.end();
      free.push(url);
    },
  };
}
