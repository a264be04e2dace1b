import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { DatabaseOptions } from './database-options.js';
import { COLUMN_NAMES, isSamePlant, plantOf, type PlantValue, rowOf } from './plant-columns.js';
import {
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  RepositoryUnavailableError,
  type StoredPlant,
} from './plant-repository.js';
import { connectionSettings } from './postgres-connection.js';
import {
  describePostgresError,
  mayBeInserted,
  MISSING_PRIVILEGES,
  mayPassAtStart,
  postgresFailure,
  postgresStartError,
} from './postgres-errors.js';
import { isCopyMissing, literal, PostgresPool } from './postgres-pool.js';
import { schemaVersion, updatePostgresSchema } from './postgres-schema.js';
import { openPostgresSnapshot } from './postgres-snapshot.js';
import { type Failure, Retry } from './retry.js';
import { UnusableDatabaseError } from './start-error.js';

/** Maximum milliseconds between two attempts of the start. */
const START_INTERVAL = 500;

/** Maximum milliseconds between two attempts. The pause is random, so that two processes do not retry in lockstep. */
const RETRY_INTERVAL = 20;

/** Maximum milliseconds of a check: health probes do not wait for long. */
const CHECK_TIMEOUT = 1_000;

/**
 * Makes the transaction wait for the disk if the server, the database or the role has turned that off. It travels with
 * the INSERT, because behind a pooler the next transaction may run on another connection. Engines without the setting
 * read it as null. A transaction that stored nothing needs no sync, and makes none.
 */
const COMMIT_TO_DISK =
  "SELECT CASE current_setting('synchronous_commit', true) WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END";

const TABLE_PRIVILEGES = "has_table_privilege('plants', 'SELECT') AND has_table_privilege('plants', 'INSERT')";

/** Maximum number of plants that are inserted without COPY, which knows no ON CONFLICT. Requests never have more. */
const MAX_VALUES = 256;

/**
 * Opens a PostgreSQL database, or another one that speaks its protocol, and brings its schema up to date.
 *
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function openPostgresRepository(url: string, options: DatabaseOptions): Promise<PlantRepository> {
  let pool: PostgresPool | undefined;
  try {
    const opened = (pool = new PostgresPool(connectionSettings(url), options));
    await tryWithin(url, options, () => prepare(opened));
    return new PostgresRepository(opened, url, options);
  } catch (error) {
    await pool?.close();
    throw postgresStartError(url, error);
  }
}

/**
 * Checks that `openPostgresRepository` can open a database, and changes nothing.
 *
 * @returns whether the table of plants is there
 * @throws {RepositoryStartError} when it cannot be opened
 */
export function checkPostgresDatabase(url: string, options: DatabaseOptions): Promise<boolean> {
  return withPool(url, options, async (pool) => {
    await assertEncoding(pool);
    if ((await schemaVersion(pool)) > 0) {
      await assertGranted(pool, TABLE_PRIVILEGES);
      return true;
    }
    await assertGranted(pool, "has_schema_privilege(current_schema(), 'CREATE')");
    return false;
  });
}

/**
 * Returns whether the table of plants is there, with a schema that this version knows. Changes nothing.
 *
 * @throws {RepositoryStartError} when the database cannot be opened
 */
export function hasPostgresPlants(url: string, options: DatabaseOptions): Promise<boolean> {
  return withPool(url, options, async (pool) => (await schemaVersion(pool)) > 0);
}

async function withPool<Result>(
  url: string,
  options: DatabaseOptions,
  work: (pool: PostgresPool) => Promise<Result>,
): Promise<Result> {
  let pool: PostgresPool | undefined;
  try {
    const opened = (pool = new PostgresPool(connectionSettings(url), { ...options, poolSize: 1 }));
    return await tryWithin(url, options, () => work(opened));
  } catch (error) {
    throw postgresStartError(url, error);
  } finally {
    await pool?.close();
  }
}

/** Waits for a server that starts later. */
async function tryWithin<Result>(
  url: string,
  { startTimeout, onWait }: DatabaseOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + startTimeout;
  let isWaiting = false;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!mayPassAtStart(error) || performance.now() > deadline) throw error;
      // Another instance that creates the same tables is no reason to wait for long.
      if (!isWaiting && postgresFailure(error) !== undefined) {
        isWaiting = true;
        onWait?.(postgresStartError(url, error).message);
      }
      await setTimeout(Math.random() * START_INTERVAL);
    }
  }
}

/** Brings the schema up to date, and checks that the database can store plants. */
async function prepare(pool: PostgresPool): Promise<void> {
  await assertEncoding(pool);
  await updatePostgresSchema(pool);
  await assertGranted(pool, TABLE_PRIVILEGES);
}

async function assertEncoding(pool: PostgresPool): Promise<void> {
  const [encoding] = await pool.transact<{ name: string }>("SELECT current_setting('server_encoding') AS name");
  const { name = '' } = encoding ?? {};
  if (name !== 'UTF8') {
    throw new UnusableDatabaseError(
      `has the encoding ${name}, which cannot hold every text; create it with ENCODING 'UTF8'`,
    );
  }
}

async function assertGranted(pool: PostgresPool, condition: string): Promise<void> {
  const [privileges] = await pool.transact<{ granted: boolean }>(`SELECT ${condition} AS granted`);
  if (privileges?.granted !== true) throw new UnusableDatabaseError(MISSING_PRIVILEGES);
}

/** Returns what an error means; undefined for a defect. */
function failureOf(error: unknown): Failure | undefined {
  return error instanceof VanishedError ? 'transient' : postgresFailure(error);
}

/** Makes the error that a repository throws. */
function unavailable(what: string, error: unknown): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`${what}: ${describePostgresError(error)}`, { cause: error });
}

/** The id was taken, but another program had deleted its plant before the look-up. */
class VanishedError extends Error {}

class PostgresRepository extends PlantRepository {
  override readonly concurrency: number;
  readonly #retry = new Retry(
    (error) => failureOf(error) === 'transient',
    () => Math.random() * RETRY_INTERVAL,
  );

  constructor(
    private readonly pool: PostgresPool,
    private readonly url: string,
    private readonly options: DatabaseOptions,
  ) {
    super();
    this.concurrency = options.poolSize;
  }

  override snapshot(): Promise<PlantSnapshot> {
    return openPostgresSnapshot(this.url, this.options);
  }

  override async close(): Promise<void> {
    await this.pool.close();
  }

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    return this.#retry
      .run(() => this.#attempt(batch), this.options.timeout)
      .catch((error: unknown) => {
        throw failureOf(error) === undefined ? error : unavailable('the database did not store them', error);
      });
  }

  override async check(): Promise<void> {
    const timeout = Math.min(this.options.timeout, CHECK_TIMEOUT);
    // A random id, so that no client who creates a plant waits for the end of this transaction.
    const insertion = insertionOf([{ id: randomBytes(8).readBigInt64LE(), name: '' }]);
    const finished = new AbortController();
    const timedOut = setTimeout(timeout, undefined, { signal: finished.signal }).then(() => {
      throw new Error(`it did not answer within ${timeout} ms`);
    });
    try {
      // Stop retrying one interval early, so that the last error wins over the timeout.
      const checked = this.#retry.run(() => this.pool.rehearse(insertion, timeout), timeout - RETRY_INTERVAL);
      await Promise.race([checked, timedOut]);
    } catch (error) {
      throw unavailable('the database cannot store plants', error);
    } finally {
      finished.abort();
    }
  }

  async #attempt(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    /** The index of the first plant of the batch with each id, which is the one that may be created. */
    const first = new Map<bigint, number>();
    for (const [index, { id }] of batch.entries()) if (!first.has(id)) first.set(id, index);
    const plants = first.size === batch.length ? batch : batch.filter(({ id }, index) => first.get(id) === index);
    const known = plants.length > MAX_VALUES ? await this.#find(plants) : [];
    /** The plants that the store had before the batch. */
    const stored = new Map(known.map((plant) => [plant.id, plant]));
    const unknown = stored.size === 0 ? plants : plants.filter(({ id }) => !stored.has(id));
    const taken = unknown.length === 0 ? [] : await this.#insert(unknown);
    const found = taken.length === 0 ? [] : await this.#find(taken);
    if (found.length < taken.length) throw new VanishedError('another program deletes plants');
    for (const plant of found) stored.set(plant.id, plant);
    return batch.map((plant, index) => {
      const created = first.get(plant.id) ?? index;
      const other = stored.get(plant.id);
      if (other === undefined && created === index) return 'created';
      return isSamePlant(plant, other ?? batch[created] ?? plant) ? 'repeated' : 'conflict';
    });
  }

  /** Inserts the plants whose ids are free, and returns the others. The ids differ. */
  async #insert(plants: readonly StoredPlant[]): Promise<readonly StoredPlant[]> {
    // In the order of ids: two batches that wait for each other's ids would deadlock.
    const inOrder = [...plants].sort((one, other) => (one.id < other.id ? -1 : 1));
    if (plants.length > MAX_VALUES) {
      try {
        await this.pool.copy(COMMIT_TO_DISK, `plants (${COLUMN_NAMES.join()})`, inOrder.map(copyRow).join(''));
        return [];
      } catch (error) {
        // Another program may have taken one of the ids since the look-up; a host may not have installed pg-copy-streams.
        if (!mayBeInserted(error) && !isCopyMissing(error)) throw error;
      }
    }
    const rows = await this.pool.transact<{ id: bigint }>(`${COMMIT_TO_DISK}; ${insertionOf(inOrder)} RETURNING id`);
    const created = new Set(rows.map(({ id }) => id));
    return plants.filter(({ id }) => !created.has(id));
  }

  /** Returns the stored plants that have the ids of these. */
  async #find(plants: readonly StoredPlant[]): Promise<StoredPlant[]> {
    const rows = await this.pool.transact<Record<keyof StoredPlant, unknown>>(
      `SELECT ${COLUMN_NAMES.join()} FROM plants WHERE id = ANY ('{${plants.map(({ id }) => id).join()}}'::bigint[])`,
    );
    return rows.map((row) => plantOf(COLUMN_NAMES.map((name) => row[name])));
  }
}

/** Returns a statement that inserts the plants whose ids are free. Not with unnest, whose rows Citus counts wrongly. */
function insertionOf(plants: readonly StoredPlant[]): string {
  const rows = plants.map((plant) => `(${rowOf(plant).map(literal).join()})`).join();
  return `INSERT INTO plants (${COLUMN_NAMES.join()}) VALUES ${rows} ON CONFLICT (id) DO NOTHING`;
}

/** Returns a row in the text format of COPY: https://www.postgresql.org/docs/current/sql-copy.html */
function copyRow(plant: StoredPlant): string {
  return `${rowOf(plant).map(copyField).join('\t')}\n`;
}

function copyField(value: PlantValue): string {
  return value === null ? '\\N' : escaped(String(value));
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escaped(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? '');
}
