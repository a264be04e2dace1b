import { keptOutError, unavailableError } from '../errors.js';
import { type Outcome, PlantRepository, type PlantSnapshot, type StoredPlant } from '../plant-repository.js';
import type { PostgresPool } from './pool.js';
import { comparisonOf, insertionOf, TRY_INSERT } from './schema.js';

/**
 * Makes the transaction wait for the disk if the server, the database or the role has turned that off. It travels with
 * the INSERT, because behind a pooler the next transaction may run on another connection. Engines without the setting
 * read it as null. A transaction that stored nothing needs no sync, and makes none.
 */
const COMMIT_TO_DISK =
  "SELECT CASE current_setting('synchronous_commit', true) WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Plants on a PostgreSQL server. Its batches wait for locks, and for a server that cannot be reached. */
export class PostgresRepository extends PlantRepository {
  /** @param checks a pool of their own, because batches may wait */
  constructor(
    private readonly batches: PostgresPool,
    private readonly checks: PostgresPool,
    private readonly openSnapshot: () => Promise<PlantSnapshot>,
  ) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const end = performance.now() + this.batches.timeout;
    // The index of the first plant of each id, by the id as a text, as the driver returns it.
    const firsts = new Map<unknown, number>();
    for (const [index, { id }] of batch.entries()) if (!firsts.has(`${id}`)) firsts.set(`${id}`, index);
    const plants = batch.filter(({ id }, index) => firsts.get(`${id}`) === index);
    // The ids are in order, because two batches that wait for each other's ids would deadlock.
    plants.sort((one, other) => (one.id < other.id ? -1 : 1));
    // Each message is retried by itself: if the whole batch were, a plant that the first attempt has inserted would count as
    // repeated.
    const outcomes = new Map<unknown, Outcome>();
    for (const [id] of await this.batches.transactUntil(end, `${COMMIT_TO_DISK}; ${insertionOf(plants)}`)) {
      outcomes.set(firsts.get(id), 'created');
    }
    const others = [...batch.entries()].filter(([index]) => !outcomes.has(index));
    if (others.length > 0) {
      for (const [index, isSame] of await this.batches.transactUntil(end, comparisonOf(others))) {
        outcomes.set(index, isSame === true ? 'repeated' : 'conflict');
      }
    }
    return batch.map((_plant, index) => {
      const outcome = outcomes.get(index);
      if (outcome === undefined) throw keptOutError();
      return outcome;
    });
  }

  override async check(): Promise<void> {
    await this.checks.transactUntil(performance.now() + this.checks.timeout, TRY_INSERT);
  }

  override async snapshot(): Promise<PlantSnapshot> {
    try {
      return await this.openSnapshot();
    } catch (error) {
      throw unavailableError(error);
    }
  }

  override async close(): Promise<void> {
    await Promise.all([this.batches.close(), this.checks.close()]);
  }
}
