import { assertColumns, assertNotNewer, UnusableDatabaseError } from '../errors.js';
import { isSameRow, rowOf, trialPlants } from '../plant-columns.js';
import { firstRow, firstValue, prepare, type SqliteDatabase } from './database.js';
import { NAME_ANOTHER_FILE } from './errors.js';

/** The steps from an empty database to the current schema. Published steps never change. */
const STEPS = [
  // An INTEGER PRIMARY KEY is the rowid, and so exactly an int64.
  'CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT',
];

export const INSERT = 'INSERT INTO plants (id, name, tag) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING';

/**
 * Compares a plant with the stored one that has its id: 1 if they are the same, otherwise 0. CASE makes sure that SQLite
 * reads no text of another length. BINARY, because the table of an operator may have a column that ignores case.
 */
export const COMPARE = `
  SELECT CASE
    WHEN octet_length(name) IS octet_length(?2) AND octet_length(tag) IS octet_length(?3)
    THEN name IS ?2 COLLATE BINARY AND tag IS ?3 COLLATE BINARY
    ELSE 0
  END
  FROM plants WHERE id = ?1`;

export const SELECT = 'SELECT id, name, tag FROM plants';

/**
 * Brings the schema up to date. The number of steps that were made is in `user_version`.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of an operator lacks columns
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
 * Returns the number of steps that were made: all of them if an operator has made the table. Unlike on PostgreSQL, a step
 * would fail on a table that is there.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of an operator lacks columns
 */
export function schemaVersion(database: SqliteDatabase): number {
  const version = Number(firstValue(database, 'PRAGMA user_version'));
  assertNotNewer(version, STEPS.length);
  if (version > 0 || !hasPlants(database)) return version;
  assertColumns(prepare(database, "SELECT name FROM pragma_table_info('plants')").all().flat(), NAME_ANOTHER_FILE);
  return STEPS.length;
}

export function hasPlants(database: SqliteDatabase): boolean {
  return firstValue(database, "SELECT 1 FROM sqlite_schema WHERE name = 'plants'") !== undefined;
}

/**
 * Brings the schema up to date, adds plants and reads them, in a transaction that is rolled back: fails if the database
 * takes no plants, and if another program made the table.
 */
export function addTrialPlants(database: SqliteDatabase): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    makeSteps(database);
    const insert = prepare(database, INSERT);
    const find = prepare(database, `${SELECT} WHERE id = ?`);
    for (const plant of trialPlants()) {
      insert.run(...rowOf(plant));
      if (!isSameRow(rowOf(plant), firstRow(find, plant.id))) {
        throw new UnusableDatabaseError(`it has a table plants that changes values; ${NAME_ANOTHER_FILE}`);
      }
    }
  } finally {
    // SQLite itself rolls back after some errors: https://sqlite.org/lang_transaction.html
    if (database.isTransaction) database.exec('ROLLBACK');
  }
}
