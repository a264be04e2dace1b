/** A plant as it stands in the store. */
export interface StoredPlant {
  /** int64: −2^63 … 2^63−1. */
  readonly id: bigint;
  /** Any text without U+0000 and unpaired surrogates. */
  readonly name: string;
  /** As `name`; a plant without a tag has no such text, which is not the empty one. */
  readonly tag?: string | undefined;
}

/**
 * What became of one plant: it was `created`; the same plant was `present` already; or its id
 * belongs to another one, a `conflict`, and the one that stands is untouched.
 */
export type Outcome = 'created' | 'present' | 'conflict';

/** The store of plants: the port that storage engines implement, and its own injection token. */
export abstract class PlantRepository {
  /**
   * Adds a batch, all or nothing, and resolves when it is durable. The same id may occur in it
   * more than once: the first one counts, as if they had come one after another.
   *
   * @returns the outcome of each plant, in the order of the batch
   * @throws {RepositoryUnavailableError} when nothing was stored, and trying again may help
   */
  abstract add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]>;

  /**
   * Resolves when the store can take a plant, without leaving one. For health checks; whoever has none needs no other.
   *
   * @throws {RepositoryUnavailableError} when it takes none
   */
  check(): Promise<void> {
    return Promise.resolve();
  }

  /** How many batches it takes at the same time. */
  readonly concurrency: number = 1;

  /** Releases the store; it is not used afterwards. */
  abstract close(): Promise<void>;
}

/** The store cannot be reached in time, or cannot take more now. Nothing was stored. */
export class RepositoryUnavailableError extends Error {
  override readonly name = 'RepositoryUnavailableError';
}

/** The store cannot be opened; the message is one line for the operator. */
export class RepositoryStartError extends Error {
  override readonly name = 'RepositoryStartError';
}
