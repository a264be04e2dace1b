import { createRequire } from 'node:module';
import type * as Sqlite from '@photostructure/sqlite';
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

/** Opens or creates a file with the driver that the service uses on this Node. */
export function openSqliteFile(path: string): SqliteFile {
  const driver = Number.parseInt(process.versions.node) >= 24 ? 'node:sqlite' : '@photostructure/sqlite';
  const { DatabaseSync } = createRequire(import.meta.url)(driver) as typeof Sqlite;
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

/** Returns the plants in a file in the order of their ids. */
export function readPlants(path: string): Row[] {
  const file = openSqliteFile(path);
  try {
    return file.all('SELECT id, name, tag FROM plants ORDER BY id');
  } finally {
    file.close();
  }
}
