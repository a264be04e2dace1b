import type { SqliteDatabase } from './database.js';

/** The garbage collection would close a database that nothing refers to. */
const LEFT_OPEN = new Set<SqliteDatabase>();

/**
 * Leaves a database whose files are not in place open until the process has ended. If it were closed, SQLite would write
 * what it knows of the log into the database, and remove a log that another process has made since. The plants of that
 * process would be lost.
 *
 * Skips Node's own cleanup, which would close the database: where a process ends by itself, Node destroys its objects after
 * `exit`. `process.exit` ends it without that, also within `exit`, whose listeners that were added later then do not run.
 * https://github.com/nodejs/node/blob/v24.0.0/lib/internal/process/per_thread.js (function exit)
 */
export function leaveOpen(database: SqliteDatabase): void {
  if (LEFT_OPEN.size === 0) process.once('exit', () => process.exit());
  LEFT_OPEN.add(database);
}
