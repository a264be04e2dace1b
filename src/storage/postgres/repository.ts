import { postgresName } from '../database-url.js';
import type { DatabaseOptions } from '../engines.js';
import { errorMessage, RepositoryUnavailableError, unavailable } from '../errors.js';
import {
  type BatchOutcome,
  CHECK_TIMEOUT,
  PlantRepository,
  type PlantSnapshot,
  type StoredPlant,
} from '../plant-repository.js';
import { Retry } from '../retry.js';
import { requireTable } from '../plants-table.js';
import { describePostgresError, isTransient, postgresFailure } from './errors.js';
import type { PostgresPool } from './pool.js';
import { addTrialPlants, comparisonOf, insertionOf } from './schema.js';
import { openPostgresSnapshot } from './snapshot.js';

/** Maximum milliseconds between two attempts. The pause is random, so that two processes do not retry in lockstep. */
const MAX_PAUSE = 20;

/**
 * Makes the transaction wait for the disk if the server, the database or the role has turned that off. It travels with
 * the INSERT, because behind a pooler the next transaction may run on another connection. Engines without the setting
 * read it as null. A transaction that stored nothing needs no sync, and makes none.
 */
const COMMIT_TO_DISK =
  "SELECT CASE current_setting('synchronous_commit', true) WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Plants on a PostgreSQL server. Its batches wait for locks, and for a server that cannot be reached. */
export class PostgresRepository extends PlantRepository {
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

  override async add(batch: readonly StoredPlant[]): Promise<readonly BatchOutcome[]> {
    // Of two plants with one id, the server would insert one, and both would count as created.
    if (new Set(batch.map(({ id }) => id)).size < batch.length) throw new Error('The batch has an id more than once');
    // Outlives an attempt that fails: the next one finds the ids of these plants taken.
    const inserted = new Set<unknown>();
    try {
      return await this.#batches.runInTime(() => this.#attempt(batch, inserted));
    } catch (error) {
      throw postgresFailure(error) === undefined ? error : unavailable('add', error, describePostgresError(error));
    }
  }

  override async check(): Promise<void> {
    const timeout = this.#checkTimeout;
    try {
      await retryWithin(timeout).runInTime(() => addTrialPlants(this.pool, { timeout }));
    } catch (error) {
      throw unavailable('check', error, describePostgresError(error));
    }
  }

  override async snapshot(): Promise<PlantSnapshot> {
    try {
      return requireTable(await openPostgresSnapshot(this.url, this.options), postgresName(this.url));
    } catch (error) {
      throw new RepositoryUnavailableError(errorMessage(error), { cause: error });
    }
  }

  override async close(): Promise<void> {
    await this.pool.close();
  }

  /**
   * Adds a batch.
   *
   * @param inserted the ids of the plants that attempts have inserted
   */
  async #attempt(batch: readonly StoredPlant[], inserted: Set<unknown>): Promise<readonly BatchOutcome[]> {
    const outcomes = await this.#insertAndCompare(batch, inserted);
    // The second time, the id of a plant that was deleted between the two statements is free.
    return outcomes.includes('refused') ? this.#insertAndCompare(batch, inserted) : outcomes;
  }

  /** Inserts the plants that are missing, and compares those whose ids are taken with the stored ones. */
  async #insertAndCompare(batch: readonly StoredPlant[], inserted: Set<unknown>): Promise<readonly BatchOutcome[]> {
    const missing = batch.filter(({ id }) => !inserted.has(id));
    for (const id of await this.#insert(missing)) inserted.add(id);
    const taken = missing.filter(({ id }) => !inserted.has(id));
    const isSame = new Map(await this.#compare(taken));
    return batch.map(({ id }) => {
      if (inserted.has(id)) return 'created';
      if (!isSame.has(id)) return 'refused';
      return isSame.get(id) === true ? 'repeated' : 'conflict';
    });
  }

  /** Inserts the plants whose ids are free, and returns these ids. */
  async #insert(plants: readonly StoredPlant[]): Promise<readonly unknown[]> {
    if (plants.length === 0) return [];
    // Two batches that wait for each other's ids would deadlock.
    const sorted = [...plants].sort((one, other) => (one.id < other.id ? -1 : 1));
    const rows = await this.pool.transact(`${COMMIT_TO_DISK}; ${insertionOf(sorted)} RETURNING id`);
    return rows.map(([id]) => id);
  }

  /** Returns the ids of the plants that are taken, each with whether the stored plant is the same. */
  async #compare(plants: readonly StoredPlant[]): Promise<[id: unknown, isSame: unknown][]> {
    if (plants.length === 0) return [];
    const rows = await this.pool.transact(comparisonOf(plants));
    return rows.map(([id, isSame]) => [id, isSame]);
  }
}

/** Returns a Retry for errors that may be over at the next attempt. */
function retryWithin(timeout: number): Retry {
  return new Retry(timeout, { isTransient, pause: () => Math.random() * MAX_PAUSE });
}
