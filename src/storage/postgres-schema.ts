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

/**
 * Brings the schema up to date. The numbers of the steps that were made are in a table, whose primary key makes an
 * instance wait for another one that makes the same step, and then fail with 23505: the caller tries again. It takes no
 * lock of the session, which PgBouncer in transaction mode and CockroachDB do not have.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program
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
 * @throws {UnusableDatabaseError} when the schema is newer than the program
 */
export async function schemaVersion(pool: PostgresPool): Promise<number> {
  const version = await recordedVersion(pool);
  if (version > STEPS.length) throw new UnusableDatabaseError(NEWER_SCHEMA);
  return version;
}

async function recordedVersion(pool: PostgresPool): Promise<number> {
  const [tables] = await pool.transact<{ plants: boolean; numbers: boolean }>(
    "SELECT to_regclass('plants') IS NOT NULL AS plants, to_regclass('plant_store_schema') IS NOT NULL AS numbers",
  );
  const { plants = false, numbers = false } = tables ?? {};
  if (numbers) {
    const [newest] = await pool.transact<{ version: number | null }>(
      'SELECT max(version) AS version FROM plant_store_schema',
    );
    const version = newest?.version ?? null;
    if (version !== null) return version;
  }
  // Earlier versions of the program made step 1 with Kysely's migrations. Their numbers are not read: a user that may
  // only SELECT and INSERT on plants is enough to go on with their database.
  return plants ? 1 : 0;
}
