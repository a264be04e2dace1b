import { assertNotNewer } from '../errors.js';
import type { StoredPlant } from '../plant-repository.js';
import type { Driver } from './pool.js';

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
 * Inserts no row. It fails where the service could insert none: without table, column or privilege, or on a standby.
 */
export const TRY_INSERT =
  'INSERT INTO plants (id, name, tag) SELECT id, name, tag FROM plants WHERE false ON CONFLICT (id) DO NOTHING';

/** Runs statements in one transaction, and returns the rows of the last one. */
type Transact = (statements: string) => Promise<unknown[][]>;

/**
 * Makes the steps that are missing. The table plant_store_schema has the numbers of the steps that were made. If two
 * instances make the same step, its primary key lets the second instance wait, and then fail with 23505: the caller
 * tries again. Session locks would not work, because PgBouncer in transaction mode has none.
 */
export async function updateSchema(transact: Transact): Promise<void> {
  const version = await readVersion(transact);
  if (version < STEPS.length) await makeStepsAfter(version, transact);
  await transact(TRY_INSERT);
}

async function makeStepsAfter(version: number, transact: Transact): Promise<void> {
  const [[encoding] = []] = await transact('SHOW server_encoding');
  if (encoding !== 'UTF8') throw new Error(`it is in ${String(encoding)}; create it with ENCODING 'UTF8'`);
  const isCitus = (await transact("SELECT FROM pg_extension WHERE extname = 'citus'")).length > 0;
  await transact('CREATE TABLE IF NOT EXISTS plant_store_schema (version integer PRIMARY KEY)');
  for (let step = version; step < STEPS.length; step += 1) {
    const distribution = step === 0 && isCitus ? `; ${DISTRIBUTE_PLANTS}` : '';
    await transact(`INSERT INTO plant_store_schema (version) VALUES (${step + 1}); ${STEPS[step]}${distribution}`);
  }
}

/**
 * Returns the number of steps that were made.
 *
 * @throws if the schema is newer than this program
 */
export async function readVersion(transact: Transact): Promise<number> {
  const [[exists] = []] = await transact("SELECT to_regclass('plant_store_schema') IS NOT NULL");
  if (exists !== true) return 0;
  const [[version] = []] = await transact('SELECT max(version) FROM plant_store_schema');
  assertNotNewer(Number(version), STEPS);
  return Number(version);
}

/** Spells a text as a literal of SQL: `escapeLiteral` of the driver. */
type EscapeLiteral = Driver['escapeLiteral'];

/** A plant with its index in a batch. */
export type IndexedPlant = readonly [index: number, plant: StoredPlant];

/**
 * Returns a statement that inserts the plants whose ids are free, and returns these ids. They are texts, because a host
 * may let the driver, which it shares with the service, parse a bigint as a number. Citus counts the rows of unnest
 * wrongly.
 */
export function insertionOf(plants: readonly StoredPlant[], escape: EscapeLiteral): string {
  const rows = plants.map((plant) => `(${valuesOf(plant, escape)})`);
  return `INSERT INTO plants (id, name, tag) VALUES ${rows.join()} ON CONFLICT (id) DO NOTHING RETURNING id::text`;
}

/**
 * Returns a statement that compares plants with the stored ones that have their ids. Each row has the index of a plant,
 * and whether the two are the same. PostgreSQL reads no stored text of another length: its comparison looks at the
 * lengths first (`texteq` in https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/varlena.c).
 */
export function comparisonOf(plants: readonly IndexedPlant[], escape: EscapeLiteral): string {
  const rows = plants.map(([index, plant]) => `(${index}, ${valuesOf(plant, escape)})`);
  return `
    SELECT sent.index, plants.name = sent.name AND plants.tag IS NOT DISTINCT FROM sent.tag
    FROM (VALUES ${rows.join()}) AS sent (index, id, name, tag) JOIN plants ON plants.id = sent.id::bigint`;
}

/** Returns the values of a plant in SQL, such as `'1','Monstera',NULL`. */
function valuesOf({ id, name, tag }: StoredPlant, escape: EscapeLiteral): string {
  return [`'${id}'`, escape(name), tag === undefined ? 'NULL' : escape(tag)].join();
}
