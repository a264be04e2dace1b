import { FIELD_NAMES, PLANT_FIELDS } from '../contract/plant-fields.js';
import { assertColumns, NEWER_SCHEMA, UnusableDatabaseError } from './errors.js';
import { COLUMN_LIST, isSameRow, rowOf, trialPlants } from './plant-columns.js';
import { firstValue, prepare, type SqliteDatabase } from './sqlite-database.js';

/** The steps from an empty database to the current schema. Published steps never change. */
const STEPS = [
  // An INTEGER PRIMARY KEY is the rowid, and so exactly an int64.
  'CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT',
];

/** Parameters in the order of the columns, such as `?1`. */
const PARAMETERS = FIELD_NAMES.map((_, index) => `?${index + 1}`);

/** `INSERT INTO plants (id,name,tag) VALUES (?1,?2,?3) ON CONFLICT (id) DO NOTHING` */
export const INSERT = `INSERT INTO plants (${COLUMN_LIST}) VALUES (${PARAMETERS.join()}) ON CONFLICT (id) DO NOTHING`;

const HAVE_SAME_LENGTHS = FIELD_NAMES.filter((name) => PLANT_FIELDS[name].type === 'text').map(
  (name) => `octet_length(${name}) IS octet_length(${PARAMETERS[FIELD_NAMES.indexOf(name)]})`,
);

/** BINARY, because the table of an operator may have a column that ignores case. */
const ARE_SAME = FIELD_NAMES.map((name, index) => `${name} IS ${PARAMETERS[index]} COLLATE BINARY`);

/**
 * Compares a plant with the stored one that has its id: 1 if every field is the same, otherwise 0. CASE makes sure that
 * SQLite reads no text of another length:
 *
 *     SELECT CASE WHEN octet_length(name) IS octet_length(?2) AND octet_length(tag) IS octet_length(?3)
 *       THEN id IS ?1 COLLATE BINARY AND name IS ?2 COLLATE BINARY AND tag IS ?3 COLLATE BINARY ELSE 0 END
 *     FROM plants WHERE id = ?1
 */
export const COMPARE =
  `SELECT CASE WHEN ${HAVE_SAME_LENGTHS.join(' AND ')} THEN ${ARE_SAME.join(' AND ')} ELSE 0 END ` +
  'FROM plants WHERE id = ?1';

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
 * Returns the number of steps that were made: all of them if an operator has made the table.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of an operator lacks columns
 */
export function schemaVersion(database: SqliteDatabase): number {
  const version = Number(firstValue(database, 'PRAGMA user_version'));
  if (version > STEPS.length) throw new UnusableDatabaseError(NEWER_SCHEMA);
  if (version > 0 || !hasPlants(database)) return version;
  assertColumns(prepare(database, "SELECT name FROM pragma_table_info('plants')").all().flat(), 'name another file');
  return STEPS.length;
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
      const row = rowOf(plant);
      prepare(database, INSERT).run(...row);
      const stored: unknown = prepare(database, `SELECT ${COLUMN_LIST} FROM plants WHERE id = ?`).get(plant.id);
      if (!isSameRow(row, stored as unknown[] | undefined)) {
        throw new UnusableDatabaseError(
          'has a table plants of another program, which changes values; name another file',
        );
      }
    }
  } finally {
    // SQLite itself rolls back after some errors: https://sqlite.org/lang_transaction.html
    if (database.isTransaction) database.exec('ROLLBACK');
  }
}
