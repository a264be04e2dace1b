import { assertNotNewer } from '../errors.js';
import { firstValue, inTransaction, prepare, type SqliteDatabase } from './database.js';

/** The steps from an empty database to the current schema. Published steps never change. */
const STEPS = [
  // An INTEGER PRIMARY KEY is the rowid, and so exactly an int64.
  'CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT',
];

export const INSERT = 'INSERT INTO plants (id, name, tag) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING';

/**
 * Compares a plant with the stored one that has its id: 1 if they are the same, otherwise 0. CASE makes sure that
 * SQLite reads no text of another length.
 */
export const COMPARE = `
  SELECT CASE
    WHEN octet_length(name) IS octet_length(?2) AND octet_length(tag) IS octet_length(?3)
    THEN name IS ?2 AND tag IS ?3
    ELSE 0
  END
  FROM plants WHERE id = ?1`;

/** Makes the steps that are missing. The number of steps that were made is in `user_version`. */
export function updateSchema(database: SqliteDatabase): void {
  // In a transaction, so that two processes never make the same step.
  inTransaction(database, () => {
    for (const step of STEPS.slice(readVersion(database))) database.exec(step);
    // Written at each start, because the commit then syncs the log: a process that was killed may have written a plant
    // to it without a sync, which would count as repeated.
    database.exec(`PRAGMA user_version = ${STEPS.length}`);
  });
}

/**
 * Returns the number of steps that were made.
 *
 * @throws if the schema is newer than this program
 */
export function readVersion(database: SqliteDatabase): number {
  const version = Number(firstValue(database, 'PRAGMA user_version'));
  assertNotNewer(version, STEPS);
  return version;
}

/**
 * Reads the whole database.
 *
 * @throws if it is damaged, if its schema is newer than this program, or if there is no table that takes plants
 */
export function assertSound(database: SqliteDatabase): void {
  readVersion(database);
  prepare(database, INSERT);
  // The pragma describes the first error.
  const found = String(firstValue(database, 'PRAGMA integrity_check(1)'));
  if (found !== 'ok') throw new Error(`it is damaged: ${found}; restore a backup`);
}
