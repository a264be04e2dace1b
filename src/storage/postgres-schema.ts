import { assertPlantColumns, type Column } from './plant-columns.js';
import type { PostgresPool } from './postgres-pool.js';
import { NEWER_SCHEMA, UnusableDatabaseError } from './start-error.js';

/**
 * The steps from an empty database to the current schema. Published steps never change. They must not fail on what is
 * there already, because some engines do not roll back schema changes.
 */
const STEPS = ['CREATE TABLE IF NOT EXISTS plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)'];

/** Distributes the table over the servers of a Citus cluster, unless the operator has done so. */
const DISTRIBUTE_PLANTS =
  "SELECT create_distributed_table('plants', 'id') " +
  "WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass)";

/** Completes a sentence about a table of another program. */
const OWN_SCHEMA =
  "create a schema for the service's tables, and name it in the URL: ?options=-csearch_path=plant_store";

/** The columns of the table of plants that statements without a schema find; no rows if there is none. */
const PLANT_COLUMNS = `
  SELECT relnamespace::regnamespace::text || '.' || relname AS table, attname AS name,
    format_type(atttypid, atttypmod) AS type,
    attnotnull AND NOT atthasdef AND attidentity = '' AS "isRequired",
    EXISTS (
      SELECT FROM pg_index
      WHERE indrelid = attrelid AND indisunique AND indpred IS NULL AND indnkeyatts = 1 AND indkey[0] = attnum
    ) AS "isUnique"
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE attrelid = to_regclass('plants') AND attnum > 0 AND NOT attisdropped`;

/**
 * Brings the schema up to date. The numbers of the steps that were made are in a table, whose primary key makes an
 * instance wait for another one that makes the same step, and then fail with 23505: the caller tries again. It takes no
 * lock of the session, which PgBouncer in transaction mode and CockroachDB do not have.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of plants is not its own,
 *   or there is no schema
 */
export async function updatePostgresSchema(pool: PostgresPool): Promise<void> {
  const version = await schemaVersion(pool);
  if (version === STEPS.length) return;
  await pool.transact('CREATE TABLE IF NOT EXISTS plant_store_schema (version integer PRIMARY KEY)');
  const isCitus = (await pool.transact("SELECT FROM pg_extension WHERE extname = 'citus'")).length > 0;
  for (const [index, step] of [...STEPS.entries()].slice(version)) {
    const distribution = index === 0 && isCitus ? `; ${DISTRIBUTE_PLANTS}` : '';
    await pool.transact(`INSERT INTO plant_store_schema (version) VALUES (${index + 1}); ${step}${distribution}`);
  }
}

/**
 * Returns the number of steps that were made; 0 if there are no tables yet.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program, or the table of plants is not its own,
 *   or there is no schema
 */
export async function schemaVersion(pool: PostgresPool): Promise<number> {
  const columns = await pool.transact<Column & { readonly table: string }>(PLANT_COLUMNS);
  const [plants] = columns;
  if (plants === undefined) await assertSchema(pool);
  else assertPlantColumns('postgres', plants.table, columns, OWN_SCHEMA);
  const version = (await recordedVersion(pool)) ?? Number(plants !== undefined);
  if (version > STEPS.length) throw new UnusableDatabaseError(NEWER_SCHEMA);
  return version;
}

async function assertSchema(pool: PostgresPool): Promise<void> {
  const [missing] = await pool.transact<{ path: string }>(
    "SELECT current_setting('search_path') AS path WHERE current_schema() IS NULL",
  );
  if (missing === undefined) return;
  throw new UnusableDatabaseError(
    `has none of the schemas in search_path, ${missing.path}; create one with CREATE SCHEMA`,
  );
}

/**
 * Returns the number in `plant_store_schema`. Earlier versions of the program made step 1 with Kysely's migrations, whose
 * numbers are not read: a user that may only SELECT and INSERT on plants is enough to go on with their database.
 */
async function recordedVersion(pool: PostgresPool): Promise<number | undefined> {
  const [table] = await pool.transact<{ exists: boolean }>(
    "SELECT to_regclass('plant_store_schema') IS NOT NULL AS exists",
  );
  if (table?.exists !== true) return undefined;
  const [newest] = await pool.transact<{ version: number | null }>(
    'SELECT max(version) AS version FROM plant_store_schema',
  );
  return newest?.version ?? undefined;
}
