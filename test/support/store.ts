import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { PostgresServer } from './postgres.js';
import { openSqliteFile, type SqliteFile, type SqliteValue } from './sqlite-file.js';

/** What is in the table, with the types that the engine gives. */
export interface Row {
  id: bigint;
  name: string;
  tag: string | null;
}

/** An empty database of the engine that the spec runs on, see jest.config.js, and a client of it beside the service. */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  /** As DATABASE_URL has it. */
  readonly url: string;
  /** Runs a statement with `?` for each parameter. */
  query<Result extends object>(statement: string, ...parameters: SqliteValue[]): Promise<Result[]>;
  /** All plants, in the order of ids. */
  rows(): Promise<Row[]>;
  close(): Promise<void>;
}

/** The caller closes it. */
export async function newStore(): Promise<Store> {
  return Reflect.get(globalThis, 'ENGINE') === 'postgres' ? newPostgresStore() : newSqliteStore();
}

const ALL = 'SELECT id, name, tag FROM plants ORDER BY id';

function newSqliteStore(): Store {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const file = join(directory, 'plants.db');
  let opened: SqliteFile | undefined;
  /** One client for the whole life of the store, once there is a file. */
  const database = (): SqliteFile => {
    opened ??= openSqliteFile(file);
    // Nothing that is done here needs to outlast a power cut.
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

/** The server of this spec file, from its first store on. */
let server: Promise<PostgresServer> | undefined;

afterAll(async () => (await server)?.remove());

/** Databases that were used and closed: making one takes longer than most tests. */
const free: string[] = [];

/** `TEST_DATABASE` may name a database elsewhere, of a cluster for example: its plants are deleted. */
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
