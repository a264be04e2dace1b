import {
  type Outcome,
  type PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../../storage/plant-repository.js';

/** Adds plants to a store, one batch after another, and counts the outcomes. */
export class PlantWriter {
  readonly counts: Record<Outcome, number> = { created: 0, repeated: 0, conflict: 0 };

  constructor(private readonly repository: PlantRepository) {}

  /** The number of plants that were created or repeated. */
  get total(): number {
    return this.counts.created + this.counts.repeated;
  }

  /**
   * Adds a batch, which may be empty.
   *
   * @throws {RepositoryUnavailableError} if it was not stored
   */
  async add(plants: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    if (plants.length === 0) return [];
    try {
      const outcomes = await this.repository.add(plants);
      for (const outcome of outcomes) this.counts[outcome] += 1;
      return outcomes;
    } catch (error) {
      if (!(error instanceof RepositoryUnavailableError)) throw error;
      throw new RepositoryUnavailableError(
        `${error.message}; run the same command again: it goes on where this one ended`,
        { cause: error },
      );
    }
  }
}
