import { assertPlantColumns, type Column } from './plant-columns.js';
import { firstValue, prepare, type SqliteDatabase } from './sqlite-database.js';
import { NEWER_SCHEMA, UnusableDatabaseError } from './errors.js';

/** The steps from an empty database to the current schema. Published steps never change. */
const STEPS = [
  // An INTEGER PRIMARY KEY is the rowid, and so exactly an int64.
  'CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT',
];

/** Completes a sentence about a table of another program. */
const OWN_FILE = 'name another file';

/** The columns of the table of plants; no rows if there is none. */
const TABLE_COLUMNS = `
  SELECT name, upper(type), "notnull" AND dflt_value IS NULL, pk > 0 AND count(*) FILTER (WHERE pk > 0) OVER () = 1
  FROM pragma_table_info('plants')`;

type ColumnRow = readonly [name: string, type: string, isRequired: bigint, isUnique: bigint];

/**
 * Brings the schema up to date. The number of steps that were made is in `user_version`.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of plants is not its own
 */
export function updateSqliteSchema(database: SqliteDatabase): void {
  assertKnownSchema(database);
  if (versionOf(database) === STEPS.length) return;
  // The transaction makes other processes wait, and is why the version is read again. On an error the caller closes the
  // connection, which rolls back.
  database.exec('BEGIN IMMEDIATE');
  assertKnownSchema(database);
  for (const step of STEPS.slice(versionOf(database))) database.exec(step);
  database.exec(`PRAGMA user_version = ${STEPS.length}; COMMIT`);
}

/** @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of plants is not its own */
export function assertKnownSchema(database: SqliteDatabase): void {
  const version = versionOf(database);
  if (version > STEPS.length) throw new UnusableDatabaseError(NEWER_SCHEMA);
  // The steps that are still to be made add columns.
  if (version > 0 && version < STEPS.length) return;
  const columns = prepare(database, TABLE_COLUMNS).all() as ColumnRow[];
  if (columns.length > 0) assertPlantColumns('sqlite', 'plants', columns.map(columnOf), OWN_FILE);
}

/** Returns the number of steps that were made: all of them if an operator has made the table. */
function versionOf(database: SqliteDatabase): number {
  const version = Number(firstValue(database, 'PRAGMA user_version'));
  return version === 0 && hasPlants(database) ? STEPS.length : version;
}

/** Returns whether there is a table of plants. */
export function hasPlants(database: SqliteDatabase): boolean {
  return firstValue(database, "SELECT 1 FROM sqlite_schema WHERE name = 'plants'") !== undefined;
}

/** Finds a damaged table at the start, before a client does. Two aggregates in one SELECT would read every row. */
export function assertReadable(database: SqliteDatabase): void {
  prepare(database, 'SELECT (SELECT min(id) FROM plants), (SELECT max(id) FROM plants)').get();
}

function columnOf([name, type, isRequired, isUnique]: ColumnRow): Column {
  return { name, type, isRequired: isRequired === 1n, isUnique: isUnique === 1n };
}
