import type * as Sqlite from '@photostructure/sqlite';
import { UnusableDatabaseError } from '../engine-errors.js';
import type { ColumnValue } from '../plant-rows.js';

export type SqliteDatabase = Sqlite.DatabaseSyncInstance;

/**
 * Runs work in a transaction, which makes other writers wait.
 *
 * @param end `ROLLBACK` leaves nothing of what the work has written
 */
export function inTransaction<Result>(
  database: SqliteDatabase,
  end: 'COMMIT' | 'ROLLBACK',
  work: () => Result,
): Result {
  // An earlier call may have failed to roll its transaction back.
  rollBack(database);
  // A deferred transaction could not wait for another writer once it has read.
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec(end);
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** Rolls a transaction back, unless SQLite has done so itself: https://sqlite.org/lang_transaction.html */
function rollBack(database: SqliteDatabase): void {
  try {
    if (database.isTransaction) database.exec('ROLLBACK');
  } catch {
    // The error of the work says more, and the next transaction tries again.
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

/** Returns the first row; an empty one if there is none. */
export function firstRow(
  statement: Sqlite.StatementSyncInstance,
  ...values: readonly ColumnValue[]
): readonly unknown[] {
  return (statement.get(...values) ?? []) as readonly unknown[];
}

/** Returns the first column of the first row; undefined without a row. */
export function firstValue(database: SqliteDatabase, sql: string): unknown {
  return firstRow(prepare(database, sql))[0];
}

/** @throws {UnusableDatabaseError} if any page of the database is damaged */
export function assertSound(database: SqliteDatabase): void {
  // The pragma reads the whole database, and describes the first error.
  const found = String(firstValue(database, 'PRAGMA integrity_check(1)'));
  if (found === 'ok') return;
  throw new UnusableDatabaseError(`it is damaged: ${found.replaceAll('\n', ' ')}; restore a backup`);
}
