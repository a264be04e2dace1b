import { resolve } from 'node:path';
import type * as Sqlite from '@photostructure/sqlite';
import { UnusableDatabaseError } from './errors.js';

export type { DatabaseSyncInstance as SqliteDatabase } from '@photostructure/sqlite';

/** Node has SQLite itself from 24 on. For older versions, a package has the same API. */
const DRIVER = Number.parseInt(process.versions.node) >= 24 ? 'node:sqlite' : '@photostructure/sqlite';

/** Milliseconds that a statement waits for a lock, which blocks the process. */
const BUSY_TIMEOUT = 5_000;

/**
 * Opens a database, or creates it.
 *
 * @param file a path, or `:memory:`
 */
export async function openSqliteDatabase(file: string): Promise<Sqlite.DatabaseSyncInstance> {
  const { DatabaseSync } = await loadDriver();
  // An absolute path, because SQLite takes a name that begins with `file:` as a URI.
  const database = new DatabaseSync(file === ':memory:' ? file : resolve(file));
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`);
  return database;
}

/** Prepares a statement. Its rows are arrays, with integers as bigint, because a number cannot hold an int64. */
export function prepare(database: Sqlite.DatabaseSyncInstance, sql: string): Sqlite.StatementSyncInstance {
  const statement = database.prepare(sql);
  // For statements that only write, too: Node 26 throws a RangeError for the rowid of a large id.
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return statement;
}

/** Returns the first column of the first row; undefined without a row. */
export function firstValue(database: Sqlite.DatabaseSyncInstance, sql: string): unknown {
  const [value] = (prepare(database, sql).get() ?? []) as readonly unknown[];
  return value;
}

async function loadDriver(): Promise<typeof Sqlite> {
  try {
    return (await import(DRIVER)) as typeof Sqlite;
  } catch (error) {
    throw new UnusableDatabaseError(
      `needs the package ${DRIVER}, with its binary for this platform, on Node before 24: npm install ${DRIVER}, or ` +
        'use a newer Node',
      { cause: error },
    );
  }
}
