import { AsyncResource } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import {
  lengthOf,
  type Outcome,
  OUTCOMES,
  PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from './plant-repository.js';

/** Maximum plants in a batch. The clients of a busy service share one round trip and one sync to disk. */
const BATCH_SIZE = 1_024;

/** Plants that wait before `isFull` is true: two batches. */
const MAX_WAITING = 2_048;

/** UTF-16 units of the texts of plants that wait before `isFull` is true. */
const MAX_WAITING_LENGTH = 67_108_864;

/**
 * A batch with texts of this many UTF-16 units takes no further plant, because a driver holds several copies of them.
 */
const BATCH_LENGTH = 262_144;

/** The diagnostics channel with one message for every stored batch. */
export const BATCH_CHANNEL = 'plant-store:batch';

/** A stored batch: the number of its plants with each outcome. A plant that the batch has twice counts twice. */
export interface BatchEvent extends Readonly<Record<Outcome, number>> {
  /** Number of plants: the sum of the three outcomes. */
  readonly size: number;
  /** Time until the batch was durable. */
  readonly seconds: number;
}

const batches = channel(BATCH_CHANNEL);

/** A call of `add`, which waits for the outcome of its plant. */
interface Call {
  readonly plant: StoredPlant;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Stores the plants that arrive while a batch is in flight in the next batch, so that no plant waits for a timer. The
 * queue has no limit of its own: PlantsService asks `isFull`, and an import adds one batch after another.
 */
@Injectable()
export class GroupCommit {
  readonly #logger = new Logger('PlantStore');
  readonly #queue: Call[] = [];
  /** The sum of the lengths of the plants in the queue. */
  #waitingLength = 0;
  /** Ends when the queue is empty. */
  #running: Promise<void> | undefined;
  /** Why the store takes no plants; undefined while it takes some. */
  #outage: RepositoryUnavailableError | undefined;

  /**
   * Starts the work in the async context of the constructor. In that of the request that starts it, it would have the
   * request's AsyncLocalStorage as long as plants arrive: a host would trace all batches as parts of this request.
   */
  readonly #start = AsyncResource.bind(() => this.#run());

  constructor(private readonly repository: PlantRepository) {}

  /**
   * Resolves when the plant is durable.
   *
   * @throws {RepositoryUnavailableError} when the plant may be stored or not: add it again
   * @throws {Error} when the store refuses this plant alone, or cannot add it because of a defect
   */
  add(plant: StoredPlant): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ plant, resolve, reject });
      this.#waitingLength += lengthOf(plant);
      this.#running ??= this.#start();
    });
  }

  /** Number of plants that wait for their batch. */
  get depth(): number {
    return this.#queue.length;
  }

  /** True if no more plants of clients should wait. */
  get isFull(): boolean {
    return this.#queue.length >= MAX_WAITING || this.#waitingLength >= MAX_WAITING_LENGTH;
  }

  /** Resolves when no plant waits any more. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Stores one batch after another until the queue is empty. */
  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // The batch fills in two turns. In the first, Node reads what arrived during the last commit, which blocks the
      // process with SQLite. In the second, it reads the next requests of the clients that this commit has answered.
      await nextTurn();
      await nextTurn();
      await this.#commit(this.#takeBatch());
    }
    // Without an `await` since the last look at the queue, so that the next plant starts the next run.
    this.#running = undefined;
  }

  /** Takes the calls that have waited for longest. */
  #takeBatch(): Call[] {
    let size = 0;
    let length = 0;
    for (const { plant } of this.#queue) {
      if (size === BATCH_SIZE || length >= BATCH_LENGTH) break;
      size += 1;
      length += lengthOf(plant);
    }
    this.#waitingLength -= length;
    return this.#queue.splice(0, size);
  }

  /** Stores a batch, and settles the promises of its calls. Never rejects. */
  async #commit(batch: readonly Call[]): Promise<void> {
    const started = performance.now();
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.repository.add(batch.map(({ plant }) => plant));
    } catch (error) {
      if (error instanceof RepositoryUnavailableError) this.#refuse(batch, error);
      else if (batch.length === 1) batch[0]?.reject(error);
      else await this.#commitOneByOne(batch);
      return;
    }
    this.#settle(batch, outcomes, (performance.now() - started) / 1_000);
  }

  /** Stores each plant of a batch alone, so that only a plant at fault fails. */
  async #commitOneByOne(batch: readonly Call[]): Promise<void> {
    for (const [index, call] of batch.entries()) {
      await this.#commit([call]);
      if (this.#outage !== undefined) {
        // Each of the others would wait for the store as long.
        this.#refuse(batch.slice(index + 1), this.#outage);
        return;
      }
      // Other requests run in between: a SQLite repository blocks the process during each commit.
      await nextTurn();
    }
  }

  /**
   * Settles the calls whose plants the repository has stored. It does not add them again if it lacks an outcome.
   *
   * @param outcomes undefined if a host's repository, a mock for example, returns nothing
   */
  #settle(batch: readonly Call[], outcomes: readonly Outcome[] | undefined, seconds: number): void {
    const counts = { created: 0, repeated: 0, conflict: 0 };
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = OUTCOMES.find((known) => known === outcomes?.[index]);
      if (outcome === undefined) {
        reject(new Error(`The repository must return an outcome for each plant: ${OUTCOMES.join(', ')}`));
      } else {
        counts[outcome] += 1;
        resolve(outcome);
      }
    });
    batches.publish({ size: batch.length, seconds, ...counts } satisfies BatchEvent);
    if (this.#outage !== undefined) this.#logger.log('The store takes plants again');
    this.#outage = undefined;
  }

  /** Refuses a batch. The operator reads each reason once, and not for each batch. */
  #refuse(batch: readonly Call[], error: RepositoryUnavailableError): void {
    for (const { reject } of batch) reject(error);
    if (this.#outage?.message !== error.message) this.#logger.warn(`Plants refused with 503: ${error.message}`);
    this.#outage = error;
  }
}
