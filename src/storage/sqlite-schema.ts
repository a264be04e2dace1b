import { COLUMN_NAMES, FITTING_COLUMNS, isSamePlant, plantOf, rowOf, trialPlants } from './plant-columns.js';
import { firstValue, prepare, type SqliteDatabase } from './sqlite-database.js';
import { NEWER_SCHEMA, UnusableDatabaseError } from './errors.js';

/** The steps from an empty database to the current schema. Published steps never change. */
const STEPS = [
  // An INTEGER PRIMARY KEY is the rowid, and so exactly an int64.
  'CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT',
];

export const INSERT =
  `INSERT INTO plants (${COLUMN_NAMES.join()}) VALUES (${COLUMN_NAMES.map(() => '?').join()}) ` +
  'ON CONFLICT (id) DO NOTHING';

/** Finds the plant with the id of another one; its texts are read only if their lengths are the same. */
export const FIND =
  `SELECT ${FITTING_COLUMNS} FROM (SELECT ${COLUMN_NAMES.join()}, ` +
  COLUMN_NAMES.map((name, index) => `octet_length(${name}) IS octet_length(?${index + 1})`).join(' AND ') +
  ' AS fits FROM plants WHERE id = ?1)';

/**
 * Brings the schema up to date. The number of steps that were made is in `user_version`.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program
 */
export function updateSqliteSchema(database: SqliteDatabase): void {
  if (schemaVersion(database) === STEPS.length) return;
  // The transaction makes other processes wait, and is why the version is read again. On an error the caller closes the
  // connection, which rolls back.
  database.exec('BEGIN IMMEDIATE');
  makeSteps(database);
  database.exec('COMMIT');
}

function makeSteps(database: SqliteDatabase): void {
  const steps = STEPS.slice(schemaVersion(database));
  if (steps.length === 0) return;
  for (const step of steps) database.exec(step);
  database.exec(`PRAGMA user_version = ${STEPS.length}`);
}

/**
 * Returns the number of steps that were made: all of them if an operator has made the table.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program
 */
export function schemaVersion(database: SqliteDatabase): number {
  const version = Number(firstValue(database, 'PRAGMA user_version'));
  if (version > STEPS.length) throw new UnusableDatabaseError(NEWER_SCHEMA);
  return version === 0 && hasPlants(database) ? STEPS.length : version;
}

export function hasPlants(database: SqliteDatabase): boolean {
  return firstValue(database, "SELECT 1 FROM sqlite_schema WHERE name = 'plants'") !== undefined;
}

/**
 * Brings the schema up to date, adds plants and reads them, in a transaction that is rolled back: fails if the database
 * takes no plants, and if another program made the table.
 */
export function tryOut(database: SqliteDatabase): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    makeSteps(database);
    for (const plant of trialPlants()) {
      prepare(database, INSERT).run(...rowOf(plant));
      const row = prepare(database, FIND).get(...rowOf(plant)) as unknown[] | undefined;
      if (row === undefined || !isSamePlant(plant, plantOf(row))) {
        throw new UnusableDatabaseError(
          `has a table plants of another program, which changes values; name another file`,
        );
      }
    }
  } finally {
    // SQLite itself rolls back after some errors: https://sqlite.org/lang_transaction.html
    if (database.isTransaction) database.exec('ROLLBACK');
  }
}
