import type { PostgresUrl } from '../database-url.js';
import type { DatabaseOptions } from '../engines.js';
import { KeptOutError } from '../engine-errors.js';
import { unavailableError } from '../error-messages.js';
import {
  CHECK_TIMEOUT,
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  type StoredPlant,
} from '../plant-repository.js';
import { Outage } from '../outage.js';
import { requireSnapshot } from '../require-snapshot.js';
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

/** A plant of a batch. */
interface Addition {
  readonly plant: StoredPlant;
  /**
   * Set by the attempt that finds the outcome. A later attempt must not try this plant again: if the first one has inserted it,
   * it would count as repeated.
   */
  outcome: Outcome | undefined;
}

/** Plants on a PostgreSQL server. Its batches wait for locks, and for a server that cannot be reached. */
export class PostgresRepository extends PlantRepository {
  /** The outage that batches have met. Checks do not use it: one that succeeds must not end it. */
  readonly #outage: Outage;
  /** Milliseconds that a check may take, with all its attempts. */
  readonly #checkTimeout: number;

  constructor(
    private readonly pool: PostgresPool,
    private readonly url: PostgresUrl,
    private readonly options: DatabaseOptions,
  ) {
    super();
    this.#checkTimeout = Math.min(options.timeout, CHECK_TIMEOUT);
    this.#outage = new Outage(options.timeout, isTransient);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const additions = batch.map((plant): Addition => ({ plant, outcome: undefined }));
    const { timeout } = this.options;
    try {
      const attempt = (): Promise<readonly Outcome[]> => this.#attempt(additions);
      return await this.#outage.run((retryFor) => retryInTime(attempt, { timeout, retryFor }));
    } catch (error) {
      // A defect, or the fault of one plant.
      if (postgresFailure(error) === undefined) throw error;
      throw unavailableError('add', describePostgresError(error), { cause: error });
    }
  }

  override async check(): Promise<void> {
    const timeout = this.#checkTimeout;
    try {
      await retryInTime(() => addTrialPlants(this.pool, { timeout }), { timeout });
    } catch (error) {
      throw unavailableError('check', describePostgresError(error), { cause: error });
    }
  }

  override async snapshot(): Promise<PlantSnapshot> {
    return requireSnapshot(openPostgresSnapshot(this.url, this.options), this.url.name);
  }

  override async close(): Promise<void> {
    await this.pool.close();
  }

  /** Finds the outcomes that earlier attempts have not found. */
  async #attempt(batch: readonly Addition[]): Promise<readonly Outcome[]> {
    // If another program deletes a stored plant between the two statements, its id is free in the second round.
    for (let round = 1; round <= 2 && batch.some(hasNoOutcome); round += 1) {
      await this.#insert(batch.filter(hasNoOutcome));
      await this.#compare(batch.filter(hasNoOutcome));
    }
    return batch.map(({ outcome }) => {
      if (outcome === undefined) throw new KeptOutError();
      return outcome;
    });
  }

  /** Inserts the first plant of each id, if the id is free. */
  async #insert(additions: readonly Addition[]): Promise<void> {
    const firsts = firstOfEachId(additions);
    // The ids are in order, because two batches that wait for each other's ids would deadlock.
    const plants = [...firsts.values()].map(({ plant }) => plant).sort((one, other) => (one.id < other.id ? -1 : 1));
    const inserted = await this.pool.transact(`${COMMIT_TO_DISK}; ${insertionOf(plants)} RETURNING id`);
    for (const [id] of inserted) setOutcome(firsts.get(String(id)), 'created');
  }

  /** Compares the plants with the stored ones that have their ids. */
  async #compare(additions: readonly Addition[]): Promise<void> {
    if (additions.length === 0) return;
    const compared = await this.pool.transact(comparisonOf(additions.map(({ plant }) => plant)));
    for (const [index, isSame] of compared) {
      setOutcome(additions[Number(index)], isSame === true ? 'repeated' : 'conflict');
    }
  }
}

function hasNoOutcome({ outcome }: Addition): boolean {
  return outcome === undefined;
}

function setOutcome(addition: Addition | undefined, outcome: Outcome): void {
  if (addition !== undefined) addition.outcome = outcome;
}

/** Returns the first plant of each id, by the id as a text, which the driver returns from a column of another type. */
function firstOfEachId(additions: readonly Addition[]): ReadonlyMap<string, Addition> {
  const firsts = new Map<string, Addition>();
  for (const addition of additions) {
    const id = String(addition.plant.id);
    if (!firsts.has(id)) firsts.set(id, addition);
  }
  return firsts;
}
