import type { ClientBase } from 'pg';
import { NEWER_SCHEMA, UnusableDatabaseError } from './start-error.js';

/**
 * The steps from an empty database to the current schema. Published steps never change. They must not fail on what is
 * there already, because some engines do not roll back schema changes.
 */
const STEPS = ['CREATE TABLE IF NOT EXISTS plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)'];

/**
 * Brings the schema up to date. The numbers of the steps that were made are in a table, whose primary key makes an
 * instance wait for another one that makes the same step, and then fail with 23505: the caller tries again. It takes no
 * lock of the session, which PgBouncer in transaction mode and CockroachDB do not have.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program
 */
export async function updatePostgresSchema(client: ClientBase): Promise<void> {
  const version = await schemaVersion(client);
  if (version === STEPS.length) return;
  await client.query('CREATE TABLE IF NOT EXISTS plant_store_schema (version integer PRIMARY KEY)');
  for (const [index, step] of [...STEPS.entries()].slice(version)) {
    // On an error the caller closes the connection, which rolls back.
    await client.query('BEGIN');
    await client.query('INSERT INTO plant_store_schema (version) VALUES ($1)', [index + 1]);
    await client.query(step);
    if (index === 0 && (await hasCitus(client))) await distributePlants(client);
    await client.query('COMMIT');
  }
}

/** Returns whether the database is one of a Citus cluster. */
export async function hasCitus(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query("SELECT FROM pg_extension WHERE extname = 'citus'");
  return rows.length > 0;
}

/**
 * Returns the number of steps that were made; 0 if there are no tables yet.
 *
 * @throws {UnusableDatabaseError} when the schema is newer than the program
 */
export async function schemaVersion(client: ClientBase): Promise<number> {
  const version = await recordedVersion(client);
  if (version > STEPS.length) throw new UnusableDatabaseError(NEWER_SCHEMA);
  return version;
}

async function recordedVersion(client: ClientBase): Promise<number> {
  const tables = await client.query<{ plants: boolean; numbers: boolean }>(
    "SELECT to_regclass('plants') IS NOT NULL AS plants, to_regclass('plant_store_schema') IS NOT NULL AS numbers",
  );
  const { plants = false, numbers = false } = tables.rows[0] ?? {};
  if (numbers) {
    const newest = await client.query<{ version: number | null }>(
      'SELECT max(version) AS version FROM plant_store_schema',
    );
    const version = newest.rows[0]?.version ?? null;
    if (version !== null) return version;
  }
  // Earlier versions of the program made step 1 with Kysely's migrations. Their numbers are not read: a user that may
  // only SELECT and INSERT on plants is enough to go on with their database.
  return plants ? 1 : 0;
}

async function distributePlants(client: ClientBase): Promise<void> {
  const { rows } = await client.query("SELECT FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass");
  if (rows.length === 0) await client.query("SELECT create_distributed_table('plants', 'id')");
}
