import { setTimeout } from 'node:timers/promises';
import {
  type Outcome,
  type PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../storage/plant-repository.js';

/** Maximum number of batches that are being added: the caller makes one ready while the store takes another. */
const BATCHES_IN_FLIGHT = 1;

/** Milliseconds between two attempts to store a batch. */
const RETRY_INTERVAL = 500;

interface BatchInFlight {
  readonly least: bigint;
  readonly greatest: bigint;
  readonly stored: Promise<void>;
}

/** Adds batches to a store, and counts the outcomes. */
export class PlantWriter {
  readonly counts: Record<Outcome, number> = { created: 0, repeated: 0, conflict: 0 };
  readonly #inFlight = new Set<BatchInFlight>();
  /** Ends when the batches so far are stored, or have failed. */
  #stored = Promise.resolve();
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

  /**
   * Waits for room, and begins to add a batch.
   *
   * @param plants may be empty
   * @param onEnd called in the order of the batches when this one is stored or has failed, with the indices in it of
   *   plants whose ids belong to others
   * @throws the error of an earlier batch, such as RepositoryUnavailableError
   */
  async add(
    plants: readonly StoredPlant[],
    onEnd: (conflicts: readonly number[]) => void = () => undefined,
  ): Promise<void> {
    let [least, greatest] = [plants[0]?.id ?? 0n, plants[0]?.id ?? 0n];
    for (const { id } of plants) {
      if (id < least) least = id;
      if (id > greatest) greatest = id;
    }
    // Batches with overlapping ids wait for one another, so that the first plant of an id counts.
    for (const other of this.#inFlight) if (other.least <= greatest && least <= other.greatest) await other.stored;
    while (this.#inFlight.size >= BATCHES_IN_FLIGHT) {
      await Promise.race([...this.#inFlight].map(({ stored }) => stored));
    }
    this.#assertSound();
    const batch = {
      least,
      greatest,
      stored: this.#store(plants, onEnd, this.#stored).finally(() => this.#inFlight.delete(batch)),
    };
    this.#stored = batch.stored;
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

  async #store(
    plants: readonly StoredPlant[],
    onEnd: (conflicts: readonly number[]) => void,
    previous: Promise<void>,
  ): Promise<void> {
    const conflicts: number[] = [];
    try {
      for (const [index, outcome] of (await this.#addPatiently(plants)).entries()) {
        this.counts[outcome] += 1;
        if (outcome === 'conflict') conflicts.push(index);
      }
    } catch (error) {
      this.#failure ??= { error };
    }
    await previous;
    try {
      onEnd(conflicts);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  async #addPatiently(plants: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    if (plants.length === 0) return [];
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
