import { Injectable } from '@nestjs/common';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** Plants a batch: large enough to share one sync to disk among all clients, small enough for any engine. */
const BATCH_SIZE = 256;

/** Plants that may wait for their batch; a longer queue only makes clients wait for nothing. */
const QUEUE_LENGTH = 4_096;

interface Waiting {
  readonly plant: StoredPlant;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Group commit: plants that come while a batch is on its way to the disk share the next one.
 * Nobody waits for a timer, a batch leaves as soon as the previous one is down.
 */
@Injectable()
export class GroupCommit {
  #queue: Waiting[] = [];
  #committing = false;

  constructor(private readonly repository: PlantRepository) {}

  /**
   * Resolves when the plant is durable.
   *
   * @throws {RepositoryUnavailableError} when nothing was stored
   */
  add(plant: StoredPlant): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length >= QUEUE_LENGTH) {
        reject(new RepositoryUnavailableError(`${QUEUE_LENGTH} plants are waiting to be stored already`));
        return;
      }
      this.#queue.push({ plant, resolve, reject });
      if (this.#committing) return;
      this.#committing = true;
      // Not at once: the other requests that this turn of the event loop reads belong to the same batch.
      setImmediate(() => void this.#commit());
    });
  }

  async #commit(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_SIZE);
      try {
        const outcomes = await this.repository.add(batch.map(({ plant }) => plant));
        batch.forEach(({ resolve, reject }, index) => {
          const outcome = outcomes[index];
          if (outcome === undefined) reject(new Error('The repository answered for fewer plants than it was given'));
          else resolve(outcome);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#committing = false;
  }
}
