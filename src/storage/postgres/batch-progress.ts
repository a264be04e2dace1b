import type { Outcome, StoredPlant } from '../plant-repository.js';

/**
 * Remembers which plants of a batch are inserted. It outlives an attempt that fails: the next one finds the ids of these
 * plants taken.
 *
 * Of several plants with one id, only the first is inserted. The others are compared with the stored one. If a trigger keeps
 * the first one out of the table, the next one takes its turn.
 */
export class BatchProgress {
  /** The index of the first plant of each id that is not kept out. */
  readonly #firsts = new Map<bigint, number>();
  /** The ids of the plants that were inserted. */
  readonly #inserted = new Set<unknown>();

  constructor(private readonly batch: readonly StoredPlant[]) {
    batch.forEach(({ id }, index) => {
      if (!this.#firsts.has(id)) this.#firsts.set(id, index);
    });
  }

  /** Returns the plants to insert, in the order of ids: two batches that wait for each other's ids would deadlock. */
  toInsert(): StoredPlant[] {
    return this.batch
      .filter(({ id }, index) => this.#firsts.get(id) === index && !this.#inserted.has(id))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** @param ids as the driver returns them */
  noteInserted(ids: readonly unknown[]): void {
    ids.forEach((id) => this.#inserted.add(id));
  }

  /** Returns the plants whose ids turned out to be taken, each with its index in the batch. */
  toCompare(): [index: number, plant: StoredPlant][] {
    return [...this.batch.entries()].filter(
      ([index, plant]) => !this.#isCreated(plant, index) && !this.#isKeptOut(plant, index),
    );
  }

  /**
   * Notes the plants that were to be inserted, and have no outcome.
   *
   * @returns whether there are others with their ids, which can be inserted now
   */
  noteKeptOut(outcomes: readonly (Outcome | undefined)[]): boolean {
    let hasOthers = false;
    for (const [id, first] of this.#firsts) {
      if (outcomes[first] !== undefined) continue;
      const next = this.batch.findIndex((plant, index) => index > first && plant.id === id);
      if (next < 0) this.#firsts.delete(id);
      else this.#firsts.set(id, next);
      hasOthers ||= next >= 0;
    }
    return hasOthers;
  }

  /**
   * Returns the outcome of each plant; undefined if it was not inserted, and no plant with its id is stored.
   *
   * @param compared the rows of `comparisonOf` for the plants of `toCompare`
   */
  outcomes(compared: readonly unknown[][]): (Outcome | undefined)[] {
    const isSame = new Map(compared.map(([index, same]) => [index, same]));
    return this.batch.map((plant, index) => {
      if (this.#isCreated(plant, index)) return 'created';
      // Also a plant that is kept out: it was not compared.
      if (!isSame.has(index)) return undefined;
      return isSame.get(index) === true ? 'repeated' : 'conflict';
    });
  }

  #isCreated({ id }: StoredPlant, index: number): boolean {
    return this.#firsts.get(id) === index && this.#inserted.has(id);
  }

  /** Returns whether the plant was the first of its id, and is not any more. */
  #isKeptOut({ id }: StoredPlant, index: number): boolean {
    return index < (this.#firsts.get(id) ?? Infinity);
  }
}
