import { keptOutError } from '../errors.js';
import { CHECK_TIMEOUT, type Outcome, PlantRepository, type StoredPlant } from '../plant-repository.js';
import type { PostgresPool } from './pool.js';
import { comparisonOf, type IndexedPlant, insertionOf, TRY_INSERT } from './schema.js';

/**
 * Makes the transaction wait for the disk if the server, the database or the role has turned that off. It travels with
 * the INSERT, because behind a pooler the next transaction may run on another connection. Engines without the setting
 * read it as null. A transaction that stored nothing needs no sync, and makes none.
 */
const COMMIT_TO_DISK =
  "SELECT CASE current_setting('synchronous_commit', true) WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Plants on a PostgreSQL server. Its batches wait for locks, and for a server that cannot be reached. */
export class PostgresRepository extends PlantRepository {
  /** @param timeout milliseconds that a batch may take */
  constructor(
    private readonly pool: PostgresPool,
    private readonly timeout: number,
  ) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const deadline = performance.now() + this.timeout;
    const newIds = await this.#insert(batch, deadline);
    const outcomes = batch.map((): Outcome => 'created');
    const others: IndexedPlant[] = [];
    for (const [index, plant] of batch.entries()) {
      // The first plant with a new id is the one that was inserted. The next one with this id is compared.
      if (newIds.has(plant.id)) newIds.delete(plant.id);
      else others.push([index, plant]);
    }
    for (const [index, outcome] of await this.#compare(others, deadline)) outcomes[index] = outcome;
    return outcomes;
  }

  /**
   * Inserts the first plant of each id, and returns the ids that were free.
   *
   * It is retried apart from the comparison: an attempt that repeated both would find its own plants, and count them as
   * repeated.
   */
  async #insert(batch: readonly StoredPlant[], deadline: number): Promise<Set<bigint>> {
    const firsts = new Map<bigint, StoredPlant>();
    for (const plant of batch) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
    // In the order of their ids, because two batches that wait for each other's ids would deadlock.
    const plants = [...firsts.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
    const insertion = insertionOf(plants, this.pool.escapeLiteral);
    const rows = await this.pool.transactUntil(deadline, `${COMMIT_TO_DISK}; ${insertion}`);
    return new Set(rows.map(([id]) => BigInt(id as string)));
  }

  /** Compares plants with the stored ones that have their ids, and returns the outcome of each with its index. */
  async #compare(plants: readonly IndexedPlant[], deadline: number): Promise<[index: number, Outcome][]> {
    if (plants.length === 0) return [];
    const rows = await this.pool.transactUntil(deadline, comparisonOf(plants, this.pool.escapeLiteral));
    if (rows.length < plants.length) throw keptOutError();
    return rows.map(([index, isSame]) => [Number(index), isSame === true ? 'repeated' : 'conflict']);
  }

  override async check(): Promise<void> {
    await this.pool.transactUntil(performance.now() + Math.min(this.timeout, CHECK_TIMEOUT), TRY_INSERT);
  }

  override close(): Promise<void> {
    return this.pool.close();
  }
}
