import { setTimeout } from 'node:timers/promises';
import {
  type Outcome,
  type PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../storage/plant-repository.js';

/** Maximum number of batches that are being added: one is made ready while the server stores another. */
const BATCHES_IN_FLIGHT = 2;

/** Milliseconds between two attempts to store a batch. */
const RETRY_INTERVAL = 500;

interface BatchInFlight {
  readonly least: bigint;
  readonly greatest: bigint;
  readonly stored: Promise<void>;
}

/** Adds batches to a store, as many at the same time as it takes, and counts the outcomes. */
export class PlantWriter {
  readonly counts: Record<Outcome, number> = { created: 0, repeated: 0, conflict: 0 };
  readonly #inFlight = new Set<BatchInFlight>();
  #failure: { readonly error: unknown } | undefined;

  /**
   * @param patience milliseconds that a store may be unavailable
   * @param signal ends retries
   */
  constructor(
    private readonly repository: PlantRepository,
    private readonly patience: number,
    private readonly signal: AbortSignal,
  ) {}

  /** The number of plants that were created or repeated. */
  get total(): number {
    return this.counts.created + this.counts.repeated;
  }

  get #concurrency(): number {
    return Math.min(this.repository.concurrency, BATCHES_IN_FLIGHT);
  }

  /**
   * Waits for room, and begins to add a batch.
   *
   * @param onConflict called with the index in the batch of each plant whose id belongs to another plant
   * @throws the error of an earlier batch, such as RepositoryUnavailableError
   */
  async add(plants: readonly StoredPlant[], onConflict: (index: number) => void = () => undefined): Promise<void> {
    let [least, greatest] = [plants[0]?.id ?? 0n, plants[0]?.id ?? 0n];
    for (const { id } of plants) {
      if (id < least) least = id;
      if (id > greatest) greatest = id;
    }
    // Batches with overlapping ids wait for one another, so that the first plant of an id counts.
    for (const other of this.#inFlight) if (other.least <= greatest && least <= other.greatest) await other.stored;
    while (this.#inFlight.size >= this.#concurrency) {
      await Promise.race([...this.#inFlight].map(({ stored }) => stored));
    }
    this.#assertSound();
    const batch = {
      least,
      greatest,
      stored: this.#store(plants, onConflict).finally(() => this.#inFlight.delete(batch)),
    };
    this.#inFlight.add(batch);
  }

  /** Waits for all batches. */
  async finish(): Promise<void> {
    await Promise.all([...this.#inFlight].map(({ stored }) => stored));
    this.#assertSound();
  }

  #assertSound(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #store(plants: readonly StoredPlant[], onConflict: (index: number) => void): Promise<void> {
    try {
      for (const [index, outcome] of (await this.#addPatiently(plants)).entries()) {
        this.counts[outcome] += 1;
        if (outcome === 'conflict') onConflict(index);
      }
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  async #addPatiently(plants: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const deadline = performance.now() + this.patience;
    for (;;) {
      try {
        return await this.repository.add(plants);
      } catch (error) {
        if (!(error instanceof RepositoryUnavailableError)) throw error;
        this.signal.throwIfAborted();
        if (performance.now() > deadline) {
          throw new RepositoryUnavailableError(
            `${error.message}; run the same command again: it goes on where this one ended`,
            { cause: error },
          );
        }
        await setTimeout(RETRY_INTERVAL);
      }
    }
  }
}
