import { FIELD_NAMES } from '../contract/plant-fields.js';

/** A plant as the store keeps it. */
export interface StoredPlant {
  /** int64: −2^63 … 2^63−1. */
  readonly id: bigint;
  /** Any text without U+0000 and unpaired surrogates. */
  readonly name: string;
  /** Like `name`. An absent tag differs from an empty one. */
  readonly tag?: string | undefined;
}

/** Returns the length of a plant's texts, for limits of memory. */
export function lengthOf(plant: StoredPlant): number {
  let length = 0;
  for (const name of FIELD_NAMES) {
    const value = plant[name];
    if (typeof value === 'string') length += value.length;
  }
  return length;
}

/**
 * The outcomes of adding one plant: `created`; `repeated` if the same plant was there already; `conflict` if its id
 * belongs to another plant, which stays as it is.
 */
export const OUTCOMES = ['created', 'repeated', 'conflict'] as const;

export type Outcome = (typeof OUTCOMES)[number];

/**
 * The store cannot be reached in time, or cannot take more now. Plants that were to be added may be stored or not, because
 * the answer of the database may be lost: add them again.
 */
export class RepositoryUnavailableError extends Error {
  override readonly name = 'RepositoryUnavailableError';
}

/**
 * The plants of a store at one moment, without those that are created later. Its methods are called one after another, and
 * throw a RepositoryUnavailableError when the store cannot be read.
 */
export interface PlantSnapshot {
  /** Returns the number of plants. */
  count(): Promise<number>;

  /** Returns those plants that have one of these ids, in any order. */
  find(ids: readonly bigint[]): Promise<readonly StoredPlant[]>;

  /**
   * Reads the plants whose id is greater than `after`, or all plants without it, in ascending order of their ids. Few plants
   * are in memory at a time.
   */
  plants(after?: bigint): AsyncIterable<StoredPlant>;

  /** Releases the snapshot, which is not used afterwards. */
  close(): Promise<void>;
}

/** Maximum milliseconds of `PlantRepository.check`: health probes do not wait for long. */
export const CHECK_TIMEOUT = 1_000;

/** The store of plants: the port that each storage engine implements, and its own injection token. */
export abstract class PlantRepository {
  /**
   * Adds a batch, and resolves when it is durable.
   *
   * @param batch may have an id more than once: the first of these plants is added, and the others are compared with it
   * @returns the outcome of each plant, in the order of the batch
   * @throws {RepositoryUnavailableError} when the store is not available. The outcome is unknown: the batch is stored as a
   *   whole, or not at all. Adding it again is safe.
   * @throws {Error} when the store does not take one of the plants. A repository should then store none of the batch.
   *   PostgreSQL may have stored the others, so the caller adds them again.
   */
  abstract add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]>;

  /**
   * Resolves when the store can take a plant, as far as a transaction shows that is rolled back. The health check of the
   * service uses this method: a repository of your own need not have it.
   *
   * @throws {RepositoryUnavailableError} when the store takes no plant
   */
  check?(): Promise<void>;

  /**
   * Takes a snapshot of the plants, while the store goes on adding plants. The data commands and `PlantsService.snapshot`
   * use this method: a repository of your own need not have it.
   *
   * @throws {RepositoryUnavailableError} when the store cannot be read now
   */
  snapshot?(): Promise<PlantSnapshot>;

  /**
   * Releases the store, which is not used afterwards.
   *
   * @throws {RepositoryUnavailableError} when the store cannot be closed
   */
  abstract close(): Promise<void>;
}
