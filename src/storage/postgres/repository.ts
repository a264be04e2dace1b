import { postgresName } from '../database-url.js';
import type { DatabaseOptions } from '../engines.js';
import { errorMessage, keptOut, RepositoryUnavailableError, unavailable } from '../errors.js';
import {
  CHECK_TIMEOUT,
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  type StoredPlant,
} from '../plant-repository.js';
import { Outage } from '../outage.js';
import { requireTable } from '../plants-table.js';
import { describePostgresError, isTransient, postgresFailure } from './errors.js';
import type { PostgresPool } from './pool.js';
import { retryInTime } from './retry-in-time.js';
import { addTrialPlants, comparisonOf, insertionOf } from './schema.js';
import { openPostgresSnapshot } from './snapshot.js';

/**
 * Makes the transaction wait for the disk if the server, the database or the role has turned that off. It travels with
 * the INSERT, because behind a pooler the next transaction may run on another connection. Engines without the setting
 * read it as null. A transaction that stored nothing needs no sync, and makes none.
 */
const COMMIT_TO_DISK =
  "SELECT CASE current_setting('synchronous_commit', true) WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Plants on a PostgreSQL server. Its batches wait for locks, and for a server that cannot be reached. */
export class PostgresRepository extends PlantRepository {
  /** What the batches remember; a check that succeeds must not end it. */
  readonly #outage: Outage;
  /** Milliseconds that a check may take. */
  readonly #checkTimeout: number;

  constructor(
    private readonly pool: PostgresPool,
    private readonly url: string,
    private readonly options: DatabaseOptions,
  ) {
    super();
    this.#checkTimeout = Math.min(options.timeout, CHECK_TIMEOUT);
    this.#outage = new Outage(options.timeout, isTransient);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    // Of all attempts: a later one finds the ids of these plants taken.
    const inserted = new Set<StoredPlant>();
    // Copies, because the steps tell plants apart by object, and the caller may pass one twice.
    const plants = batch.map((plant) => ({ ...plant }));
    try {
      return await this.#outage.run((patience) =>
        retryInTime(() => this.#attempt(plants, inserted), this.options.timeout, patience),
      );
    } catch (error) {
      throw postgresFailure(error) === undefined ? error : unavailable('add', error, describePostgresError(error));
    }
  }

  override async check(): Promise<void> {
    const timeout = this.#checkTimeout;
    try {
      await retryInTime(() => addTrialPlants(this.pool, { timeout }), timeout);
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
   * @param inserted the plants that attempts have inserted
   */
  async #attempt(batch: readonly StoredPlant[], inserted: Set<StoredPlant>): Promise<readonly Outcome[]> {
    const outcomes = await this.#insertAndCompare(batch, inserted);
    if (areKnown(outcomes)) return outcomes;
    // The id of a plant that was deleted between the two statements is free now.
    const secondOutcomes = await this.#insertAndCompare(batch, inserted);
    if (areKnown(secondOutcomes)) return secondOutcomes;
    throw keptOut();
  }

  /**
   * Inserts the first plant of each id, if the id is free, and compares the others with the stored ones. A plant that was
   * neither inserted nor found has no outcome.
   */
  async #insertAndCompare(
    batch: readonly StoredPlant[],
    inserted: Set<StoredPlant>,
  ): Promise<readonly (Outcome | undefined)[]> {
    const missing = batch.filter((plant) => !inserted.has(plant));
    for (const plant of await this.#insert(firstOfEachId(missing))) inserted.add(plant);
    const others = missing.filter((plant) => !inserted.has(plant));
    const isSame = await this.#compare(others);
    return batch.map((plant) => {
      if (inserted.has(plant)) return 'created';
      const same = isSame.get(plant);
      if (same === undefined) return undefined;
      return same ? 'repeated' : 'conflict';
    });
  }

  /** Inserts the plants whose ids are free, and returns them. */
  async #insert(plants: readonly StoredPlant[]): Promise<readonly StoredPlant[]> {
    if (plants.length === 0) return [];
    // Two batches that wait for each other's ids would deadlock.
    const sorted = [...plants].sort((one, other) => (one.id < other.id ? -1 : 1));
    const rows = await this.pool.transact(`${COMMIT_TO_DISK}; ${insertionOf(sorted)} RETURNING id`);
    const ids = new Set(rows.map(([id]) => String(id)));
    return plants.filter(({ id }) => ids.has(String(id)));
  }

  /** Compares the plants whose ids are taken with the stored ones: true if both are the same. */
  async #compare(plants: readonly StoredPlant[]): Promise<ReadonlyMap<StoredPlant | undefined, boolean>> {
    if (plants.length === 0) return new Map();
    const rows = await this.pool.transact(comparisonOf(plants));
    return new Map(rows.map(([index, isSame]) => [plants[Number(index)], isSame === true]));
  }
}

function areKnown(outcomes: readonly (Outcome | undefined)[]): outcomes is readonly Outcome[] {
  return !outcomes.includes(undefined);
}

function firstOfEachId(plants: readonly StoredPlant[]): readonly StoredPlant[] {
  const firsts = new Map<bigint, StoredPlant>();
  for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
  return [...firsts.values()];
}
