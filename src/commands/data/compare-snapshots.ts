import { isSamePlant } from '../../storage/plant-columns.js';
import type { PlantSnapshot, StoredPlant } from '../../storage/plant-repository.js';

/** Maximum number of ids that are named as examples. */
const MAX_EXAMPLES = 10;

/** Stands behind the last plant of a snapshot: its id is greater than all others. */
const END: StoredPlant = { id: 2n ** 63n, name: '' };

/** How two stores differ in an id: only the first has it, only the other one has it, or their plants differ. */
type Difference = 'missing' | 'additional' | 'different';

export interface Comparison {
  /** Number of plants in the first store. */
  readonly plants: number;
  /** Number of plants in the other store. */
  readonly against: number;
  /** Number of ids of each kind. */
  readonly differences: Readonly<Record<Difference, number>>;
  /** The first ids that differ. */
  readonly examples: readonly { readonly id: bigint; readonly difference: Difference }[];
}

/**
 * Compares the plants of two stores.
 *
 * @param onProgress called with the number of compared plants of the first store
 */
export async function compareSnapshots(
  snapshot: PlantSnapshot,
  other: PlantSnapshot,
  onProgress: (plants: number) => void,
): Promise<Comparison> {
  const differences: Record<Difference, number> = { missing: 0, additional: 0, different: 0 };
  const examples: { id: bigint; difference: Difference }[] = [];
  const note = ({ id }: StoredPlant, difference: Difference): void => {
    differences[difference] += 1;
    if (examples.length < MAX_EXAMPLES) examples.push({ id, difference });
  };
  const [left, right] = [new Cursor(snapshot), new Cursor(other)];
  for (;;) {
    // Awaits once a page: a promise for each plant would take longer than everything else.
    const [one, two] = [left.plant ?? (await left.load()), right.plant ?? (await right.load())];
    if (one === END && two === END) return { plants: left.count, against: right.count, differences, examples };
    if (one.id < two.id) note(one, 'missing');
    else if (two.id < one.id) note(two, 'additional');
    else if (!isSamePlant(one, two)) note(one, 'different');
    if (one.id <= two.id) left.advance();
    if (two.id <= one.id) right.advance();
    if (left.plant === undefined) onProgress(left.count);
  }
}

/** A position in the plants of a snapshot. */
class Cursor {
  /** Number of plants before the position. */
  count = 0;
  readonly #pages;
  #page: readonly StoredPlant[] = [];
  #index = 0;

  constructor(snapshot: PlantSnapshot) {
    this.#pages = snapshot.pages()[Symbol.asyncIterator]();
  }

  /** Undefined if the next page is not loaded yet. */
  get plant(): StoredPlant | undefined {
    return this.#page[this.#index];
  }

  advance(): void {
    this.#index += 1;
    this.count += 1;
  }

  /** Loads the next page, and returns its first plant. */
  async load(): Promise<StoredPlant> {
    const next = await this.#pages.next();
    this.#page = next.done === true ? [END] : next.value;
    this.#index = 0;
    return this.plant ?? this.load();
  }
}
