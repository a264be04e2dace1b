import { createHash } from 'node:crypto';
import { isSamePlant } from '../../storage/plant-columns.js';
import type { PlantSnapshot, StoredPlant } from '../../storage/plant-repository.js';
import { encodePlants } from './formats.js';

/** Maximum number of ids that are named as examples. */
const MAX_EXAMPLES = 10;

/** Stands behind the last plant of a snapshot: its id is greater than all others. */
const END: StoredPlant = { id: 2n ** 63n, name: '' };

export interface Digest {
  readonly plants: number;
  /** Digest of the plants as `export` writes them as NDJSON, in hexadecimal. */
  readonly sha256: string;
}

/** How two stores differ in an id: only the first has it, only the other one has it, or their plants differ. */
type Difference = 'missing' | 'additional' | 'different';

export interface Comparison {
  /** Number of ids of each kind. */
  readonly differences: Readonly<Record<Difference, number>>;
  /** The first ids that differ. */
  readonly examples: readonly { readonly id: bigint; readonly difference: Difference }[];
}

/** Counts the plants, and makes the digest of their canonical NDJSON. */
export async function digestOf(snapshot: PlantSnapshot, onProgress: (plants: number) => void): Promise<Digest> {
  const hash = createHash('sha256');
  let plants = 0;
  for await (const page of snapshot.pages()) {
    hash.update(encodePlants(page, 'ndjson'));
    plants += page.length;
    onProgress(plants);
  }
  return { plants, sha256: hash.digest('hex') };
}

/**
 * Compares the plants of two stores.
 *
 * @param onProgress called with the number of compared plants of the first store
 */
export async function compareSnapshots(
  snapshot: PlantSnapshot,
  other: PlantSnapshot,
  onProgress: (plants: number) => void = () => undefined,
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
    if (one === END && two === END) return { differences, examples };
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

/** Describes the differences in words. */
export function describeDifferences({ differences, examples }: Comparison): string {
  const { missing, additional, different } = differences;
  const first = examples.map(({ id, difference }) => `${id} (${difference})`).join(', ');
  return `${missing} missing, ${additional} additional, ${different} different; the first ids: ${first}`;
}
