import { channel } from 'node:diagnostics_channel';
import { Injectable, Logger } from '@nestjs/common';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** Plants a batch: large enough to share one sync to disk among all clients, small enough for any engine. */
const BATCH_SIZE = 256;

/** Plants that may wait for their batch. The standalone service takes fewer at a time; a host may not. */
const QUEUE_LENGTH = 4_096;

/** A batch that is away for so many times as long as the last one was is not waited for, if the repository takes more. */
const LATE = 2;

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
  readonly conflict: number;
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
  /** Who takes batches from the queue: at most as many as the repository takes at the same time. */
  readonly #committing = new Set<Promise<void>>();
  /** When the last of them set out, as `performance.now()` has it, and how many milliseconds the last batch took. */
  #begun = 0;
  #took = 0;
  /** Looks again when the batch that is on its way is late. */
  #timer: NodeJS.Timeout | undefined;

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
      this.#takeConnection();
    });
  }

  /** Plants that wait for their batch. */
  get depth(): number {
    return this.#queue.length;
  }

  /** Resolves when everything that was added is stored, or refused. */
  async settled(): Promise<void> {
    while (this.#committing.size > 0) await Promise.all(this.#committing);
  }

  /** A larger batch costs a server less than another one beside it, as long as those that are on their way come down. */
  #takeConnection(): void {
    const { size } = this.#committing;
    if (this.#queue.length === 0 || size >= this.repository.concurrency) return;
    const rest = this.#begun + LATE * this.#took - performance.now();
    if (size === 0 || this.#queue.length >= BATCH_SIZE || rest <= 0) {
      this.#startCommitting();
    } else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#takeConnection();
      }, rest).unref();
    }
  }

  #startCommitting(): void {
    this.#begun = performance.now();
    const committing: Promise<void> = this.#commitAll(() => this.#committing.delete(committing));
    this.#committing.add(committing);
  }

  /** @param done runs in the same turn as the last look at the queue, so that no plant comes between and is forgotten */
  async #commitAll(done: () => void): Promise<void> {
    // Not at once: the other requests that this turn of the event loop reads belong to the same batch.
    await new Promise(setImmediate);
    while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, BATCH_SIZE));
    done();
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const begun = (this.#begun = performance.now());
      const outcomes = await this.repository.add(batch.map(({ plant }) => plant));
      this.#took = performance.now() - begun;
      if (batches.hasSubscribers) batches.publish(messageOf(outcomes, this.#took / 1_000));
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
    conflict: count.conflict,
  };
}
