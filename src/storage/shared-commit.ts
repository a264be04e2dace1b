import { publishBatch } from './group-commit.js';
import {
  type Outcome,
  type PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from './plant-repository.js';

/** A batch that waits for its commit, and the promise of its outcomes. */
interface PendingBatch {
  readonly plants: readonly StoredPlant[];
  readonly resolve: (outcomes: readonly Outcome[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Joins the batches of several processes: those that arrive while a commit is in flight share the next one. A process
 * sends a batch only after it has the outcomes of the previous one, so at most one batch of each process waits.
 */
export class SharedCommit {
  #waiting: PendingBatch[] = [];
  #isWorking = false;

  constructor(private readonly repository: PlantRepository) {}

  /** Number of plants that wait for their commit. */
  get depth(): number {
    return this.#waiting.reduce((sum, { plants }) => sum + plants.length, 0);
  }

  /** Adds a batch, as `PlantRepository.add` does. */
  add(plants: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ plants, resolve, reject });
      if (!this.#isWorking) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // Batches of other processes that are read in this turn of the event loop belong to the same commit.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0));
    this.#isWorking = false;
  }

  async #commit(batches: readonly PendingBatch[]): Promise<void> {
    try {
      const started = performance.now();
      const outcomes = await this.repository.add(batches.flatMap(({ plants }) => plants));
      publishBatch(outcomes, (performance.now() - started) / 1_000);
      let begin = 0;
      for (const { plants, resolve } of batches) resolve(outcomes.slice(begin, (begin += plants.length)));
    } catch (error) {
      // A defect with one plant must fail the batch of its process alone, which then adds its plants one by one.
      if (error instanceof RepositoryUnavailableError || batches.length === 1) {
        for (const { reject } of batches) reject(error);
      } else {
        for (const batch of batches) await this.#commit([batch]);
      }
    }
  }
}
