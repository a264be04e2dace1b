import type { SqliteDatabase } from './statements.js';

/** Databases that stay open: the garbage collection would close one that nothing refers to. */
const leftOpen = new Set<SqliteDatabase>();

/**
 * Keeps a database open until the process ends: closing it would remove a log that another process has made since, with the
 * plants in it.
 */
export function leaveOpen(database: SqliteDatabase): void {
  if (leftOpen.size === 0) process.once('exit', endWithoutClosingDatabases);
  leftOpen.add(database);
}

/**
 * Ends a process that is ending by itself, before Node closes all databases: it does not close them after `process.exit`
 * (https://github.com/nodejs/node/blob/v24.0.0/lib/internal/process/per_thread.js, function exit). Only hosts need this, and
 * lose their later `exit` listeners: the service and the commands call `process.exit` anyway.
 */
function endWithoutClosingDatabases(): void {
  process.exit();
}
