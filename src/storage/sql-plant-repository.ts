import type { Kysely } from 'kysely';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** The tables, as Kysely types them. */
export interface Schema {
  plants: { id: bigint; name: string; tag: string | null };
}

/** What is particular to a database: its connection, and what its errors mean. */
export interface Engine {
  readonly database: Kysely<Schema>;
  /** Whether the statement had no effect for a reason that may pass: a lock, a full disk. */
  isUnavailable(error: unknown): boolean;
}

/** The repository over any SQL database: one statement for the batch, and a look at what was there before. */
export class SqlPlantRepository extends PlantRepository {
  constructor(private readonly engine: Engine) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const standing = new Map<bigint, StoredPlant>();
    for (const plant of batch) {
      if (!standing.has(plant.id)) standing.set(plant.id, plant);
    }
    try {
      const created = await this.#insert([...standing.values()]);
      const others = [...standing.keys()].filter((id) => !created.has(id));
      for (const plant of await this.#find(others)) standing.set(plant.id, plant);
      return batch.map((plant) => {
        // Only the first of an id's plants in the batch can be the one that was created.
        if (created.delete(plant.id)) return 'created';
        return isSame(plant, standing.get(plant.id)) ? 'present' : 'conflict';
      });
    } catch (error) {
      if (!this.engine.isUnavailable(error)) throw error;
      throw new RepositoryUnavailableError('The database did not store the batch', { cause: error });
    }
  }

  override async close(): Promise<void> {
    await this.engine.database.destroy();
  }

  async #insert(plants: readonly StoredPlant[]): Promise<Set<bigint>> {
    const rows = await this.engine.database
      .insertInto('plants')
      .values(plants.map(({ id, name, tag }) => ({ id, name, tag: tag ?? null })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  async #find(ids: readonly bigint[]): Promise<StoredPlant[]> {
    if (ids.length === 0) return [];
    const rows = await this.engine.database.selectFrom('plants').selectAll().where('id', 'in', ids).execute();
    return rows.map(({ id, name, tag }) => ({
      id,
      name,
      tag: tag ?? undefined,
    }));
  }
}

function isSame(plant: StoredPlant, other: StoredPlant | undefined): boolean {
  return plant.name === other?.name && plant.tag === other.tag;
}
