import { UnusableDatabaseError } from '../errors.js';
import { isSameRow, rowOf, trialPlants } from '../plant-columns.js';
import { assertColumns, assertNotNewer, type Tables } from '../tables.js';
import { firstRow, firstValue, prepare, type SqliteDatabase, transact } from './database.js';
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
 * Brings the schema up to date, and adds trial plants. The number of steps that were made is in `user_version`.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of plants is not its own
 */
export function updateSqliteSchema(database: SqliteDatabase): void {
  transact(database, 'COMMIT', () => {
    for (const step of stepsAfter(findTables(database))) database.exec(step);
  });
  addTrialPlants(database);
}

/**
 * Does the same in a transaction that is rolled back.
 *
 * @returns whether the table of plants is there
 * @throws as `updateSqliteSchema`
 */
export function checkSqliteSchema(database: SqliteDatabase): boolean {
  const tables = findTables(database);
  addTrialPlants(database, { steps: stepsAfter(tables) });
  return tables.hasPlants;
}

/** Returns the statements that make the steps that are missing: none on a foreign table; see `Tables.isForeign`. */
function stepsAfter({ version, isForeign }: Tables): string[] {
  const steps = STEPS.map((step, index) => `${step}; PRAGMA user_version = ${index + 1}`);
  return isForeign ? [] : steps.slice(version);
}

/**
 * Finds the tables.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of an operator lacks columns
 */
export function findTables(database: SqliteDatabase): Tables {
  const hasPlants = firstValue(database, "SELECT 1 FROM sqlite_schema WHERE name = 'plants'") !== undefined;
  const version = Number(firstValue(database, 'PRAGMA user_version'));
  const isForeign = hasPlants && version === 0;
  assertNotNewer(version, STEPS.length);
  if (isForeign) {
    assertColumns(prepare(database, "SELECT name FROM pragma_table_info('plants')").all().flat(), NAME_ANOTHER_FILE);
  }
  return { hasPlants, version, isForeign };
}

/**
 * Adds plants and reads them, in a transaction that is rolled back: fails if the database takes no plants, and if another
 * program made the table.
 *
 * @param options.steps statements before that, which are rolled back, too
 */
export function addTrialPlants(
  database: SqliteDatabase,
  { steps = [] }: { readonly steps?: readonly string[] } = {},
): void {
  transact(database, 'ROLLBACK', () => {
    for (const step of steps) database.exec(step);
    const insert = prepare(database, INSERT);
    const find = prepare(database, `${SELECT} WHERE id = ?`);
    for (const plant of trialPlants()) {
      insert.run(...rowOf(plant));
      if (!isSameRow(rowOf(plant), firstRow(find, plant.id))) {
        throw new UnusableDatabaseError(`it has a table plants that changes values; ${NAME_ANOTHER_FILE}`);
      }
    }
  });
}
