import {
  type Outcome,
  type PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../../storage/plant-repository.js';

/** Adds plants to a store, one batch after another, and counts the outcomes. */
export class PlantWriter {
  readonly outcomes: Record<Outcome, number> = { created: 0, repeated: 0, conflict: 0 };
  /** Number of plants, with any outcome. */
  count = 0;

  constructor(private readonly repository: PlantRepository) {}

  /**
   * Adds a batch, and returns the plants whose ids belong to others.
   *
   * @throws {RepositoryUnavailableError} if the batch was not stored
   */
  async add(batch: readonly StoredPlant[]): Promise<readonly StoredPlant[]> {
    if (batch.length === 0) return [];
    const outcomes = await this.repository.add(batch).catch((cause: unknown) => {
      if (!(cause instanceof RepositoryUnavailableError)) throw cause;
      const advice = 'run the same command again: it goes on where this one ended';
      throw new RepositoryUnavailableError(`${cause.message}; ${advice}`, { cause });
    });
    this.count += batch.length;
    for (const outcome of outcomes) this.outcomes[outcome] += 1;
    return batch.filter((_, index) => outcomes[index] === 'conflict');
  }
}
