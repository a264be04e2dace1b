import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import type { Row } from './store.js';

/** Milliseconds that a statement waits for the service to release its lock on the file. */
const BUSY_TIMEOUT = 5_000;

export type SqliteValue = bigint | number | string | null;

/** A SQLite file that a spec reads or changes beside the service. */
export interface SqliteFile {
  /** Runs statements without parameters and without a result. */
  exec(sql: string): void;
  /** Runs a statement and returns its rows, with integers as bigint. */
  all<Row extends object>(sql: string, ...parameters: SqliteValue[]): Row[];
  /** Closes the file; a second call does nothing. */
  close(): void;
}

/** Opens or creates a file with the driver that this Node has: npm installs none on Node 24 and later. */
export function openSqliteFile(path: string): SqliteFile {
  return Number.parseInt(process.versions.node) >= 24 ? openWithNode(path) : openWithBetterSqlite(path);
}

/** Returns the plants in a file in the order of their ids. */
export function readPlants(path: string): Row[] {
  const file = openSqliteFile(path);
  try {
    return file.all('SELECT id, name, tag FROM plants ORDER BY id');
  } finally {
    file.close();
  }
}

/** The members of `node:sqlite` in use: the types of the oldest supported Node do not have it. */
interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly timeout: number },
  ) => {
    readonly isOpen: boolean;
    exec(sql: string): void;
    prepare(sql: string): { all(...parameters: SqliteValue[]): unknown[]; setReadBigInts(enabled: boolean): void };
    close(): void;
  };
}

function openWithNode(path: string): SqliteFile {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite') as unknown as NodeSqlite;
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  return {
    exec: (sql) => database.exec(sql),
    all<Row extends object>(sql: string, ...parameters: SqliteValue[]) {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      // The rows have no prototype, which Jest's toStrictEqual would tell from object literals.
      return statement.all(...parameters).map((row) => ({ ...(row as Row) }));
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}

function openWithBetterSqlite(path: string): SqliteFile {
  const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3;
  const database = new Database(path, { timeout: BUSY_TIMEOUT }).defaultSafeIntegers(true);
  return {
    exec: (sql) => void database.exec(sql),
    all<Row extends object>(sql: string, ...parameters: SqliteValue[]) {
      const statement = database.prepare<SqliteValue[], Row>(sql);
      if (statement.reader) return statement.all(...parameters);
      statement.run(...parameters);
      return [];
    },
    close: () => void database.close(),
  };
}
