import { postgresName } from '../database-url.js';
import type { DatabaseOptions } from '../engines.js';
import { batchError, checkError, requireOutcomes, snapshotError } from '../errors.js';
import {
  CHECK_TIMEOUT,
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  type StoredPlant,
} from '../plant-repository.js';
import { Retry } from '../retry.js';
import { requireTable } from '../plants-table.js';
import { BatchProgress } from './batch-progress.js';
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

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const progress = new BatchProgress(batch);
    try {
      return requireOutcomes(await this.#batches.runInTime(() => this.#attempt(progress)));
    } catch (error) {
      throw postgresFailure(error) === undefined ? error : batchError(error, describePostgresError(error));
    }
  }

  override async check(): Promise<void> {
    const timeout = this.#checkTimeout;
    try {
      await retryWithin(timeout).runInTime(() => addTrialPlants(this.pool, { timeout }));
    } catch (error) {
      throw checkError(error, describePostgresError(error));
    }
  }

  override async snapshot(): Promise<PlantSnapshot> {
    try {
      return requireTable(await openPostgresSnapshot(this.url, this.options));
    } catch (error) {
      throw snapshotError(postgresName(this.url), error);
    }
  }

  override async close(): Promise<void> {
    await this.pool.close();
  }

  /** Adds the plants that are missing, so that it can be repeated after any failure. */
  async #attempt(progress: BatchProgress): Promise<readonly (Outcome | undefined)[]> {
    for (;;) {
      const outcomes = await this.#insertAndCompare(progress);
      if (!outcomes.includes(undefined)) return outcomes;
      // The second time, the id of a plant that was deleted between the two statements is free.
      const again = await this.#insertAndCompare(progress);
      if (!progress.noteKeptOut(again)) return again;
    }
  }

  /** Returns the outcome of each plant; undefined if it was not inserted, and its id is not there. */
  async #insertAndCompare(progress: BatchProgress): Promise<readonly (Outcome | undefined)[]> {
    progress.noteInserted(await this.#insert(progress.toInsert()));
    return progress.outcomes(await this.#compare(progress.toCompare()));
  }

  /** Inserts the plants whose ids are free, and returns these ids. */
  async #insert(plants: readonly StoredPlant[]): Promise<readonly unknown[]> {
    if (plants.length === 0) return [];
    const rows = await this.pool.transact(`${COMMIT_TO_DISK}; ${insertionOf(plants)} RETURNING id`);
    return rows.map(([id]) => id);
  }

  /** Compares plants with the stored ones that have their ids; see `comparisonOf`. */
  async #compare(taken: ReturnType<BatchProgress['toCompare']>): Promise<unknown[][]> {
    return taken.length === 0 ? [] : this.pool.transact(comparisonOf(taken));
  }
}

/** Returns a Retry for errors that may be over at the next attempt. */
function retryWithin(timeout: number): Retry {
  return new Retry(timeout, { isTransient, pause: () => Math.random() * MAX_PAUSE });
}
