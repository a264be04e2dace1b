import { setTimeout } from 'node:timers/promises';
import { postgresName } from './database-url.js';
import type { DatabaseOptions } from './engines.js';
import { cannotBeRead, cannotStore, notConfirmed, requireTable } from './errors.js';
import { type Outcome, PlantRepository, type PlantSnapshot, type StoredPlant } from './plant-repository.js';
import {
  describePostgresError,
  mayPassAtStart,
  PlantDeletedError,
  postgresFailure,
  postgresStartError,
} from './postgres-errors.js';
import { PostgresPool } from './postgres-pool.js';
import {
  addTrialPlants,
  comparisonOf,
  insertionOf,
  tryOutPostgresSchema,
  updatePostgresSchema,
} from './postgres-schema.js';
import { openSnapshot } from './postgres-snapshot.js';
import { Retry } from './retry.js';

export { openSnapshot };

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

/**
 * Opens a PostgreSQL database, or another one that speaks its protocol, and brings its schema up to date. Waits for a
 * server that starts later.
 */
export async function openRepository(url: string, options: DatabaseOptions): Promise<PlantRepository> {
  const { timeout, startTimeout, onWait } = options;
  const pool = new PostgresPool(url, timeout);
  let isAnnounced = false;
  const announce = (error: unknown): never => {
    // Another instance that creates the same tables is no reason to wait for long.
    if (!isAnnounced && postgresFailure(error) === 'transient') {
      isAnnounced = true;
      onWait?.(postgresStartError(url, error).message);
    }
    throw error;
  };
  try {
    const retry = new Retry(startTimeout, mayPassAtStart, () => Math.random() * START_INTERVAL);
    await retry.run(() => updatePostgresSchema(pool).catch(announce));
  } catch (error) {
    await pool.close();
    throw postgresStartError(url, error);
  }
  return new PostgresRepository(pool, url, options);
}

/**
 * Tries out a database, which stays as it is. Does not wait for a server that cannot be reached.
 *
 * @returns whether the table of plants is there
 * @throws {OperatorError} when a start would refuse the database
 */
export async function tryOutDatabase(url: string, { timeout }: DatabaseOptions): Promise<boolean> {
  const pool = new PostgresPool(url, timeout);
  try {
    return await tryOutPostgresSchema(pool);
  } catch (error) {
    throw postgresStartError(url, error);
  } finally {
    await pool.close();
  }
}

class PostgresRepository extends PlantRepository {
  readonly #batches: Retry;
  /** Milliseconds that a check may take. */
  readonly #checkTimeout: number;

  constructor(
    private readonly pool: PostgresPool,
    private readonly url: string,
    private readonly options: DatabaseOptions,
  ) {
    super();
    this.#checkTimeout = Math.min(options.timeout, CHECK_TIMEOUT);
    this.#batches = retryWithin(options.timeout);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    try {
      return await this.#batches.run(() => this.#attempt(batch));
    } catch (error) {
      throw postgresFailure(error) === undefined ? error : notConfirmed(error, describePostgresError(error));
    }
  }

  override async check(): Promise<void> {
    const timeout = this.#checkTimeout;
    try {
      // One interval less, so that the last error wins over the timeout.
      const checked = retryWithin(timeout - RETRY_INTERVAL).run(() => addTrialPlants(this.pool, { timeout }));
      const isLate = await Promise.race([checked.then(() => false), setTimeout(timeout, true, { ref: false })]);
      if (isLate) throw new Error(`it did not answer within ${timeout} ms`);
    } catch (error) {
      throw cannotStore(error, describePostgresError(error));
    }
  }

  override async snapshot(): Promise<PlantSnapshot> {
    try {
      return requireTable(await openSnapshot(this.url, this.options));
    } catch (error) {
      throw cannotBeRead(postgresName(this.url), error);
    }
  }

  override async close(): Promise<void> {
    await this.pool.close();
  }

  /** Adds the plants that are missing, so that it can be repeated after any failure. */
  async #attempt(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const idsNotYetReported = await this.#insert(firstOfEachId(batch));
    // `delete` returns true once for each id: further plants with it are compared with the first one.
    const isCreated = batch.map(({ id }) => idsNotYetReported.delete(id));
    const sameness = await this.#compare(batch.filter((_, index) => isCreated[index] === false));
    return isCreated.map((is) => {
      if (is) return 'created';
      return sameness.shift() === true ? 'repeated' : 'conflict';
    });
  }

  /** Inserts the plants whose ids are free, and returns these ids. */
  async #insert(plants: readonly StoredPlant[]): Promise<Set<bigint>> {
    // In the order of ids: two batches that wait for each other's ids would deadlock.
    const inOrder = [...plants].sort((one, other) => (one.id < other.id ? -1 : 1));
    const rows = await this.pool.transact(`${COMMIT_TO_DISK}; ${insertionOf(inOrder)} RETURNING id`);
    return new Set(rows.map(([id]) => id as bigint));
  }

  /** Returns whether each of these plants is the stored one that has its id. */
  async #compare(taken: readonly StoredPlant[]): Promise<boolean[]> {
    if (taken.length === 0) return [];
    const rows = await this.pool.transact(comparisonOf(taken));
    // Another attempt finds these ids free.
    if (rows.length < taken.length) throw new PlantDeletedError();
    const same = new Set(rows.filter(([, isSame]) => isSame === true).map(([index]) => index));
    return taken.map((_, index) => same.has(index));
  }
}

/** Returns a Retry for errors that may be over at the next attempt. */
function retryWithin(timeout: number): Retry {
  const isTransient = (error: unknown): boolean => postgresFailure(error) === 'transient';
  return new Retry(timeout, isTransient, () => Math.random() * RETRY_INTERVAL);
}

function firstOfEachId(batch: readonly StoredPlant[]): StoredPlant[] {
  const plants = new Map<bigint, StoredPlant>();
  for (const plant of batch) if (!plants.has(plant.id)) plants.set(plant.id, plant);
  return [...plants.values()];
}
