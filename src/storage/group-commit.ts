import { AsyncResource } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { PlantsKeptOutError } from './errors.js';
import {
  lengthOf,
  type Outcome,
  OUTCOMES,
  PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from './plant-repository.js';

/** Maximum plants in a batch: enough that the clients of a busy service share one round trip and one sync to disk. */
const BATCH_SIZE = 1_024;

/** UTF-16 units of its texts, at which a batch takes no further plant: a driver holds several copies of them. */
const BATCH_LENGTH = 262_144;

/** Name of the diagnostics channel that gets a `BatchMessage` for each stored batch. */
export const BATCH_CHANNEL = 'plant-store:batch';

/** A stored batch, without plants that the table keeps out: how many of its plants have each outcome. */
export interface BatchMessage extends Readonly<Record<Outcome, number>> {
  /** Number of plants: the sum of the three outcomes. */
  readonly size: number;
  /** Time until the batch was durable. */
  readonly seconds: number;
}

const batches = channel(BATCH_CHANNEL);

/** A plant in the queue or in a batch, and the promise of its outcome. */
interface PendingPlant {
  readonly plant: StoredPlant;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (reason: unknown) => void;
}

/** The outcome of each plant of a stored batch; an error for a plant that the table keeps out. */
type StoredOutcomes = readonly (Outcome | PlantsKeptOutError)[];

/**
 * Group commit: plants that arrive while a batch is in flight share the next one. So no plant waits for a timer. The queue
 * needs no limit: Admission bounds the plants in flight.
 */
@Injectable()
export class GroupCommit {
  readonly #logger = new Logger('PlantStore');
  #queue: PendingPlant[] = [];
  #isRunning = false;
  /** Plants that the store has refused since it last took some. */
  #refused = 0;

  /** Bound to the context of the constructor: a batch must not run in the AsyncLocalStorage context of one request. */
  readonly #start = AsyncResource.bind(() => void this.#run());

  constructor(private readonly repository: PlantRepository) {}

  /**
   * Resolves when the plant is durable.
   *
   * @throws {RepositoryUnavailableError} when it may be stored or not: add it again
   */
  add(plant: StoredPlant): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ plant, resolve, reject });
      if (!this.#isRunning) this.#start();
    });
  }

  /** Number of plants that wait for their batch. */
  get depth(): number {
    return this.#queue.length;
  }

  /** Stores one batch after another until the queue is empty. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    await waitForArrivals(1);
    for (;;) {
      await this.#store(this.#takeBatch());
      if (this.#queue.length === 0) break;
      await waitForArrivals(2);
    }
    // In the same turn as the last look at the queue: a plant that is added later must start again.
    this.#isRunning = false;
  }

  #takeBatch(): PendingPlant[] {
    let size = 0;
    let length = 0;
    for (const { plant } of this.#queue) {
      if (size === BATCH_SIZE || length >= BATCH_LENGTH) break;
      size += 1;
      length += lengthOf(plant);
    }
    return this.#queue.splice(0, size);
  }

  /** Stores a batch, and settles the promise of each plant. */
  async #store(batch: readonly PendingPlant[]): Promise<void> {
    const started = performance.now();
    try {
      const outcomes = await this.#addToRepository(batch);
      publishBatch(outcomes, (performance.now() - started) / 1_000);
      this.#settle(batch, outcomes);
    } catch (error) {
      if (error instanceof RepositoryUnavailableError) this.#refuse(batch, error);
      else if (batch.length > 1) await this.#storeInHalves(batch);
      else batch.forEach(({ reject }) => reject(error));
    }
  }

  /** Stores a batch in two, so that a defect with one plant fails in the end that plant alone. */
  async #storeInHalves(batch: readonly PendingPlant[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      await this.#store(half);
      // A SQLite repository blocks the process during each commit. Other requests run in between.
      await setImmediate();
    }
  }

  #refuse(batch: readonly PendingPlant[], error: RepositoryUnavailableError): void {
    this.#refused += batch.length;
    this.#logger.warn(`Plants refused with 503: ${batch.length}; ${error.message}`);
    batch.forEach(({ reject }) => reject(error));
  }

  /** Returns the outcome of each plant of a batch that is stored. */
  async #addToRepository(batch: readonly PendingPlant[]): Promise<StoredOutcomes> {
    try {
      const outcomes = await this.repository.add(batch.map(({ plant }) => plant));
      assertOutcomes(outcomes, batch.length);
      return outcomes;
    } catch (error) {
      if (!(error instanceof PlantsKeptOutError)) throw error;
      // The other plants are stored. Added again, in halves, they would be repeated.
      return error.outcomes.map((outcome) => outcome ?? error);
    }
  }

  #settle(batch: readonly PendingPlant[], outcomes: StoredOutcomes): void {
    if (this.#refused > 0) {
      this.#logger.log(`The store takes plants again; plants refused meanwhile: ${this.#refused}`);
      this.#refused = 0;
    }
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index];
      if (typeof outcome === 'string') resolve(outcome);
      else reject(outcome);
    });
  }
}

/**
 * Waits for requests whose plants belong to the next batch. In the first turn of the event loop, Node reads those that have
 * arrived already, such as during a commit of SQLite, which blocks the process. In the second turn, it reads the next
 * requests of the clients that the last batch has answered.
 */
async function waitForArrivals(turns: 1 | 2): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await setImmediate();
}

/** A repository of a host may return anything. A plant without one of the three outcomes must not count as stored. */
function assertOutcomes(outcomes: readonly Outcome[], count: number): void {
  // `Array.from` turns holes into undefined, which `every` would skip.
  const returned = Array.isArray(outcomes) ? Array.from<Outcome>(outcomes) : [];
  if (returned.length !== count || !returned.every((outcome) => OUTCOMES.includes(outcome))) {
    throw new Error(`The repository must return an outcome for each plant: ${OUTCOMES.join(', ')}`);
  }
}

/** Publishes a stored batch to the metrics. */
function publishBatch(outcomes: StoredOutcomes, seconds: number): void {
  if (!batches.hasSubscribers) return;
  const count = { created: 0, repeated: 0, conflict: 0 };
  for (const outcome of outcomes) if (typeof outcome === 'string') count[outcome] += 1;
  const size = count.created + count.repeated + count.conflict;
  const message: BatchMessage = { size, seconds, ...count };
  if (size > 0) batches.publish(message);
}
