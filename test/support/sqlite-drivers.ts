import type { SqliteDriver } from '../../src/storage/sqlite-driver.js';

const NODE_MAJOR = Number(process.versions.node.split('.', 1)[0]);

/** The drivers that work on this Node. better-sqlite3 12 aborts on Node 24.19 and later: nodejs/node#65446 */
export const SQLITE_DRIVERS: readonly SqliteDriver[] = [
  ...(process.getBuiltinModule('node:sqlite') === undefined ? [] : ['node:sqlite' as const]),
  ...(NODE_MAJOR < 24 ? ['better-sqlite3' as const] : []),
];
