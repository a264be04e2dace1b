import { UnusableDatabaseError } from '../engine-errors.js';
import { COLUMNS, rowOf } from '../plant-rows.js';
import { assertUsableSchema, type SchemaState } from '../schema-state.js';
import { isSameRow, trialPlants } from '../trial-plants.js';
import { NAME_ANOTHER_FILE } from './errors.js';
import { firstRow, firstValue, inTransaction, prepare, type SqliteDatabase } from './statements.js';

/**
 * The steps from an empty database to the current schema. Published steps never change. The first one accepts a table that
 * an operator has made.
 */
const STEPS = [
  // An INTEGER PRIMARY KEY is the rowid, and so exactly an int64.
  'CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT',
];

export const INSERT = 'INSERT INTO plants (id, name, tag) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING';

/**
 * Compares a plant with the stored one that has its id: 1 if they are the same, otherwise 0. CASE makes sure that SQLite
 * reads no text of another length. BINARY is for an operator's table, whose columns may ignore case.
 */
export const COMPARE = `
  SELECT CASE
    WHEN octet_length(name) IS octet_length(?2) AND octet_length(tag) IS octet_length(?3)
    THEN name IS ?2 COLLATE BINARY AND tag IS ?3 COLLATE BINARY
    ELSE 0
  END
  FROM plants WHERE id = ?1`;

export const SELECT = `SELECT ${COLUMNS} FROM plants`;

/** An operator may have spelled the name of the table in another way. */
const FIND_TABLE = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'plants' COLLATE NOCASE";

/**
 * Brings the schema up to date. The number of steps that were made is in `user_version`.
 *
 * @throws {UnusableDatabaseError} as `assertUsableSchema`, or when the table of plants changes values
 */
export function updateSqliteSchema(database: SqliteDatabase): void {
  // The trial comes first, so that the table of another program stays as it is if the start fails.
  rehearseSqliteSchema(database);
  inTransaction(database, 'COMMIT', () => makeSteps(database));
}

/**
 * Brings the schema up to date and adds trial plants, in a transaction that is rolled back.
 *
 * @returns whether the table of plants is there
 * @throws as `updateSqliteSchema`
 */
export function rehearseSqliteSchema(database: SqliteDatabase): boolean {
  return inTransaction(database, 'ROLLBACK', () => {
    const { hasPlants } = readSchemaState(database);
    makeSteps(database);
    insertTrialPlants(database);
    return hasPlants;
  });
}

/** Makes the steps that are missing. The caller is in a transaction, so that two processes never make the same step. */
function makeSteps(database: SqliteDatabase): void {
  const { version } = readSchemaState(database);
  for (const step of STEPS.slice(version)) database.exec(step);
  if (version < STEPS.length) database.exec(`PRAGMA user_version = ${STEPS.length}`);
}

/** @throws {UnusableDatabaseError} as `assertUsableSchema` */
export function readSchemaState(database: SqliteDatabase): SchemaState {
  const state = {
    version: Number(firstValue(database, 'PRAGMA user_version')),
    hasPlants: firstValue(database, FIND_TABLE) !== undefined,
  };
  assertUsableSchema(state, STEPS.length);
  return state;
}

/** Adds trial plants, in a transaction that is rolled back. See `insertTrialPlants`. */
export function addTrialPlants(database: SqliteDatabase): void {
  inTransaction(database, 'ROLLBACK', () => insertTrialPlants(database));
}

/** Adds plants and reads them. It fails if the table does not take them, or returns others. */
function insertTrialPlants(database: SqliteDatabase): void {
  const insert = prepare(database, INSERT);
  const find = prepare(database, `${SELECT} WHERE id = ?`);
  for (const plant of trialPlants()) {
    insert.run(...rowOf(plant));
    if (!isSameRow(rowOf(plant), firstRow(find, plant.id))) {
      throw new UnusableDatabaseError(`it has a table plants that changes values; ${NAME_ANOTHER_FILE}`);
    }
  }
}
