import { channel } from 'node:diagnostics_channel';
import { Injectable, Logger } from '@nestjs/common';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** Plants a batch: large enough to share one sync to disk among all clients, small enough for any engine. */
const BATCH_SIZE = 256;

/** Plants that may wait for their batch. The standalone service takes fewer at a time; a host may not. */
const QUEUE_LENGTH = 4_096;

/** One message for every batch that is stored. */
export const BATCH = 'plant-store:batch';

/** What the channel `plant-store:batch` carries. */
export interface BatchMessage {
  /** Plants; what became of them adds up to as many. */
  readonly size: number;
  /** Until it was durable. */
  readonly seconds: number;
  readonly created: number;
  readonly repeated: number;
  readonly conflicting: number;
}

const batches = channel(BATCH);

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
  readonly #logger = new Logger('PlantStore');
  #queue: Waiting[] = [];
  /** Who takes batches from the queue: as many as the repository takes at the same time. */
  readonly #committing = new Set<Promise<void>>();

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
      if (this.#committing.size < this.repository.concurrency) this.#startCommitting();
    });
  }

  /** Plants that wait for their batch. */
  get depth(): number {
    return this.#queue.length;
  }

  /** Resolves when everything that was added is stored, or refused. */
  async settled(): Promise<void> {
    await Promise.all(this.#committing);
  }

  #startCommitting(): void {
    const committing = this.#commitAll(() => this.#committing.delete(committing));
    this.#committing.add(committing);
  }

  /** @param done is called in the same step as the last look at the queue: whoever comes later begins anew */
  async #commitAll(done: () => void): Promise<void> {
    // Not at once: the other requests that this turn of the event loop reads belong to the same batch.
    await new Promise(setImmediate);
    try {
      while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, BATCH_SIZE));
    } finally {
      done();
    }
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const begun = performance.now();
      const outcomes = await this.repository.add(batch.map(({ plant }) => plant));
      if (batches.hasSubscribers) batches.publish(messageOf(outcomes, (performance.now() - begun) / 1_000));
      batch.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error('The repository answered for fewer plants than it was given'));
        else resolve(outcome);
      });
    } catch (error) {
      const unavailable = error instanceof RepositoryUnavailableError;
      if (unavailable) this.#logger.warn(`${batch.length} plants were refused with 503: ${error.message}`);
      // What is wrong with one plant is no reason to refuse the others; those that are stored already stay so.
      if (unavailable || batch.length === 1) for (const { reject } of batch) reject(error);
      else for (const waiting of batch) await this.#commit([waiting]);
    }
  }
}

function messageOf(outcomes: readonly Outcome[], seconds: number): BatchMessage {
  const count = { created: 0, present: 0, conflict: 0 };
  for (const outcome of outcomes) count[outcome] += 1;
  return {
    size: outcomes.length,
    seconds,
    created: count.created,
    repeated: count.present,
    conflicting: count.conflict,
  };
}
