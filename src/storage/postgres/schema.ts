import { UnusableDatabaseError } from '../engine-errors.js';
import { errorMessage } from '../error-messages.js';
import { COLUMNS, rowOf } from '../plant-rows.js';
import type { StoredPlant } from '../plant-repository.js';
import { assertUsableSchema, type SchemaState } from '../schema-state.js';
import { isSameRow, trialPlants } from '../trial-plants.js';
import { USE_ANOTHER_SCHEMA, violatesUniqueness } from './errors.js';
import { literal } from './literal.js';
import type { PostgresPool } from './pool.js';

/**
 * The steps from an empty database to the current schema. Published steps never change. They must not fail on what is
 * there already, because some engines do not roll back schema changes.
 */
const STEPS = ['CREATE TABLE IF NOT EXISTS plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)'];

/** Distributes the table over the servers of a Citus cluster, unless the operator has done so. */
const DISTRIBUTE_PLANTS =
  "SELECT create_distributed_table('plants', 'id') " +
  "WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass)";

/**
 * Brings the schema up to date, and adds trial plants. The table plant_store_schema has the numbers of the steps that were
 * made. If two instances make the same step, its primary key lets the second instance wait, and then fail with 23505: the
 * caller tries again. Session locks would not work, because PgBouncer in transaction mode and CockroachDB have none.
 *
 * @throws {UnusableDatabaseError} as `assertUsableSchema`, or when the table of plants changes values
 */
export async function updatePostgresSchema(pool: PostgresPool): Promise<void> {
  const { hasPlants, version } = await readSchemaState((statement) => pool.transact(statement));
  // The table of another program is tried before any step, so that a start that fails adds nothing beside it.
  if (hasPlants && version === 0) await addTrialPlants(pool);
  for (const step of await stepsAfter(version, pool)) await pool.transact(step);
  await addTrialPlants(pool);
}

/**
 * Brings the schema up to date and adds trial plants, in a transaction that is rolled back.
 *
 * @returns whether the table of plants is there
 * @throws as `updatePostgresSchema`
 */
export async function rehearsePostgresSchema(pool: PostgresPool): Promise<boolean> {
  const { hasPlants, version } = await readSchemaState((statement) => pool.transact(statement));
  await addTrialPlants(pool, { steps: await stepsAfter(version, pool) });
  return hasPlants;
}

/** Returns the statements that make the steps that are missing. Each is one message, and so one transaction. */
async function stepsAfter(version: number, pool: PostgresPool): Promise<string[]> {
  if (version === STEPS.length) return [];
  const isCitus = (await pool.transact("SELECT FROM pg_extension WHERE extname = 'citus'")).length > 0;
  const steps = STEPS.map((step, index) => {
    const distribution = index === 0 && isCitus ? `; ${DISTRIBUTE_PLANTS}` : '';
    return `INSERT INTO plant_store_schema (version) VALUES (${index + 1}); ${step}${distribution}`;
  });
  return ['CREATE TABLE IF NOT EXISTS plant_store_schema (version integer PRIMARY KEY)', ...steps.slice(version)];
}

/**
 * Reads the state of the tables that statements without a schema find.
 *
 * @param query runs a statement, and returns its rows
 * @throws {UnusableDatabaseError} as `assertUsableSchema`
 */
export async function readSchemaState(query: (statement: string) => Promise<unknown[][]>): Promise<SchemaState> {
  const [found] = await query("SELECT to_regclass('plant_store_schema') IS NOT NULL");
  // One statement reads both, because another instance may make the tables meanwhile.
  const [row] = await query(
    found?.[0] === true
      ? "SELECT max(version), to_regclass('plants') IS NOT NULL FROM plant_store_schema"
      : "SELECT 0, to_regclass('plants') IS NOT NULL",
  );
  const [version, hasPlants] = row ?? [];
  const state = { version: Number(version), hasPlants: hasPlants === true };
  assertUsableSchema(state, STEPS.length);
  return state;
}

/**
 * Adds plants and reads them, in a transaction that is rolled back. It fails if the table does not take them, or returns
 * others.
 *
 * @param options.steps statements before that, which are rolled back, too
 * @param options.timeout milliseconds that the caller waits, if it waits for less than the pool
 */
export async function addTrialPlants(
  pool: PostgresPool,
  { steps = [], timeout }: { readonly steps?: readonly string[]; readonly timeout?: number } = {},
): Promise<void> {
  const plants = trialPlants();
  const statements = [...steps, `${insertionOf(plants)} RETURNING ${COLUMNS}`];
  const added = await pool.transactAndRollBack(statements, timeout).catch((error: unknown) => {
    // An operator's column is unique. The start would take the error for a race with another instance, and try again.
    if (!violatesUniqueness(error)) throw error;
    throw new UnusableDatabaseError(`${errorMessage(error)}; ${USE_ANOTHER_SCHEMA}`, { cause: error });
  });
  if (!plants.every((plant) => added.some((row) => isSameRow(rowOf(plant), row)))) {
    throw new UnusableDatabaseError(`it has a table plants that changes values; ${USE_ANOTHER_SCHEMA}`);
  }
}

/** Returns a statement that inserts the plants whose ids are free. Citus counts the rows of unnest wrongly. */
export function insertionOf(plants: readonly StoredPlant[]): string {
  const rows = plants.map((plant) => `(${valuesOf(plant)})`);
  return `INSERT INTO plants (${COLUMNS}) VALUES ${rows.join()} ON CONFLICT (id) DO NOTHING`;
}

/**
 * Returns a statement that compares plants with the stored ones that have their ids. Each row has the index of a plant, and
 * whether the two are the same. PostgreSQL reads no stored text of another length: its comparison looks at the lengths first
 * (`texteq` in https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/varlena.c). The casts are for columns
 * of an operator with other types or collations, such as one that ignores case.
 */
export function comparisonOf(plants: readonly StoredPlant[]): string {
  const rows = plants.map((plant, index) => `(${index}, ${valuesOf(plant)})`);
  return `
    SELECT
      sent.index,
      plants.name::text COLLATE "C" IS NOT DISTINCT FROM sent.name::text AND
      plants.tag::text COLLATE "C" IS NOT DISTINCT FROM sent.tag::text
    FROM (VALUES ${rows.join()}) AS sent (index, ${COLUMNS})
    JOIN plants ON plants.id = sent.id::bigint`;
}

/** Returns the values of a plant in SQL, such as `'1','Monstera',NULL`. */
function valuesOf(plant: StoredPlant): string {
  return rowOf(plant).map(literal).join();
}
