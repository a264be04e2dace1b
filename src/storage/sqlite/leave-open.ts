import type { SqliteDatabase } from './database.js';

/** The garbage collection would close a database that nothing refers to. */
const LEFT_OPEN = new Set<SqliteDatabase>();

/**
 * Keeps a database open whose files are not in place: closing it would write its log over what another process has made
 * since. Node closes all databases when a process ends by itself, but not after `process.exit`
 * (https://github.com/nodejs/node/blob/v24.0.0/lib/internal/process/per_thread.js, function exit). The service and the
 * commands call that anyway. The listener is for hosts, whose later `exit` listeners it skips.
 */
export function leaveOpen(database: SqliteDatabase): void {
  if (LEFT_OPEN.size === 0) process.once('exit', () => process.exit());
  LEFT_OPEN.add(database);
}
