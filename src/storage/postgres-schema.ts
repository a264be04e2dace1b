import { assertPlantColumns, type Column } from './plant-columns.js';
import { MISSING_PRIVILEGES } from './postgres-errors.js';
import type { PostgresPool } from './postgres-pool.js';
import { NEWER_SCHEMA, UnusableDatabaseError } from './errors.js';

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

const STATE = `
  SELECT current_setting('server_encoding') AS encoding, current_setting('search_path') AS path,
    current_schema() IS NOT NULL AS "hasSchema", to_regclass('plant_store_schema') IS NOT NULL AS "isNumbered"`;

/** The user may add plants. */
export const CAN_ADD = "has_table_privilege('plants', 'SELECT') AND has_table_privilege('plants', 'INSERT')";

/** The user may create the tables. */
export const CAN_CREATE = "has_schema_privilege(current_schema(), 'CREATE')";

interface State {
  readonly encoding: string;
  readonly path: string;
  readonly hasSchema: boolean;
  readonly isNumbered: boolean;
}

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
 * @throws {UnusableDatabaseError} as `schemaVersion`
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
 * @throws {UnusableDatabaseError} when the schema is newer than the program, the table of plants is not its own, there is
 *   no schema, or the encoding is not UTF-8
 */
export async function schemaVersion(pool: PostgresPool): Promise<number> {
  const [state] = await pool.transact<State>(STATE);
  if (state?.encoding !== 'UTF8') {
    throw new UnusableDatabaseError(
      `has the encoding ${state?.encoding}, which cannot hold every text; create it with ENCODING 'UTF8'`,
    );
  }
  if (!state.hasSchema) {
    throw new UnusableDatabaseError(
      `has none of the schemas in search_path, ${state.path}; create one with CREATE SCHEMA`,
    );
  }
  const version = state.isNumbered ? await recordedVersion(pool) : 0;
  if (version > STEPS.length) throw new UnusableDatabaseError(NEWER_SCHEMA);
  // A table that is still to be updated may lack columns.
  if (version > 0 && version < STEPS.length) return version;
  const columns = await pool.transact<Column & { readonly table: string }>(PLANT_COLUMNS);
  const [plants] = columns;
  if (plants !== undefined) assertPlantColumns('postgres', plants.table, columns, OWN_SCHEMA);
  return version;
}

async function recordedVersion(pool: PostgresPool): Promise<number> {
  const [newest] = await pool.transact<{ version: number | null }>(
    'SELECT max(version) AS version FROM plant_store_schema',
  );
  return newest?.version ?? 0;
}

/** @throws {UnusableDatabaseError} when the user lacks what it needs to add plants, or to create the tables */
export async function assertGranted(pool: PostgresPool, condition: string): Promise<void> {
  const [privileges] = await pool.transact<{ granted: boolean }>(`SELECT ${condition} AS granted`);
  if (privileges?.granted !== true) throw new UnusableDatabaseError(MISSING_PRIVILEGES);
}
