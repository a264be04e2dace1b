import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type * as Sqlite from '@photostructure/sqlite';
import { OperatorError } from '../../operator-error.js';
import { startError } from '../errors.js';
import { retry } from '../retry.js';

export type SqliteDatabase = Sqlite.DatabaseSyncInstance;

/** SQLite's name for a database in memory. */
export const IN_MEMORY = ':memory:';

/** Milliseconds that the opening waits for a lock of another process. */
const OPEN_TIMEOUT = 5_000;

/** Milliseconds between two attempts to open. */
const OPEN_PAUSE = 20;

/**
 * Result codes (https://sqlite.org/rescode.html) of a lock of another process: SQLITE_BUSY, SQLITE_LOCKED,
 * SQLITE_PROTOCOL.
 */
const LOCKED = [5, 6, 15];

/**
 * Result codes of other errors with which no plant can be stored: SQLITE_NOMEM, SQLITE_READONLY, SQLITE_IOERR,
 * SQLITE_CORRUPT, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_NOTADB. Any other error is the fault of a plant, or a defect.
 */
const LASTING = [7, 8, 10, 11, 13, 14, 26];

/** Returns whether another attempt may succeed, because another process had a lock. */
export function isLocked(error: unknown): boolean {
  return LOCKED.includes(resultCode(error));
}

/** Returns whether no plant can be stored now. */
export function isUnavailable(error: unknown): boolean {
  return isLocked(error) || LASTING.includes(resultCode(error));
}

/**
 * Returns the primary result code of an error, which is in the last byte of an extended one; 0 if SQLite did not fail.
 */
function resultCode(error: unknown): number {
  const { errcode } = Object(error) as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : 0;
}

/** @throws {OperatorError} if this user may not look for the file */
export function exists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw startError(file, error);
  }
}

/** @throws {OperatorError} if there is no such file, or if this user may not look for it */
export function assertExists(file: string): void {
  if (!exists(file)) throw new OperatorError(`there is no database ${file}: DATABASE_URL must name one that exists`);
}

/**
 * Opens or creates a database, and begins to use it. Both are repeated while another process has a lock.
 *
 * @param use returns what keeps the database, and closes it later
 * @throws {OperatorError} when the database cannot be opened, or `use` fails; the database is closed then
 */
export async function openDatabase<Result>(file: string, use: (database: SqliteDatabase) => Result): Promise<Result> {
  try {
    const { DatabaseSync } = await loadDriver();
    const attempt = (): Result => {
      // SQLite takes a relative name that begins with `file:` as a URI. With a timeout, it would wait for a lock
      // itself, and block the process.
      const database = new DatabaseSync(file === IN_MEMORY ? file : resolve(file), { timeout: 0 });
      try {
        return use(database);
      } catch (error) {
        database.close();
        throw error;
      }
    };
    return await retry(attempt, { timeout: OPEN_TIMEOUT, pause: OPEN_PAUSE, isTransient: isLocked });
  } catch (error) {
    throw startError(file, error);
  }
}

/** Opens a database as `openDatabase` does, and closes it after the work. */
export function withDatabase<Result>(file: string, work: (database: SqliteDatabase) => Result): Promise<Result> {
  return openDatabase(file, (database) => {
    const result = work(database);
    // If the work fails, openDatabase closes it.
    database.close();
    return result;
  });
}

/** Loads Node's own SQLite, or a package with the same API for older Nodes. Bundlers need the names as literals. */
function loadDriver(): Promise<Pick<typeof Sqlite, 'DatabaseSync'>> {
  return Number.parseInt(process.versions.node) >= 24 ? import('node:sqlite') : import('@photostructure/sqlite');
}

/** Runs work in a transaction, which makes other writers wait. */
export function inTransaction<Result>(database: SqliteDatabase, work: () => Result): Result {
  // A deferred transaction could not wait for another writer once it has read.
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // After some errors, SQLite has done so itself: https://sqlite.org/lang_transaction.html
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Prepares a statement, whose rows are arrays. Integers are bigints, because a number cannot hold an int64. */
export function prepare(database: SqliteDatabase, sql: string): Sqlite.StatementSyncInstance {
  const statement = database.prepare(sql);
  // Statements that only write need it, too: Node 26 throws a RangeError for the rowid of a large id.
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return statement;
}

/** Returns the first column of the first row; undefined without a row. */
export function firstValue(database: SqliteDatabase, sql: string): unknown {
  return (prepare(database, sql).get() as readonly unknown[] | undefined)?.[0];
}
