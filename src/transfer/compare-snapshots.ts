import { createHash } from 'node:crypto';
import { encodePlants } from '../formats/encode-plants.js';
import { isSamePlant } from '../storage/plant-columns.js';
import type { PlantSnapshot, StoredPlant } from '../storage/plant-repository.js';

/** Maximum number of ids that are named as examples. */
const MAX_EXAMPLES = 10;

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
    await Promise.all([left.load(), right.load()]);
    onProgress(left.count);
    if (left.current === undefined && right.current === undefined) return { differences, examples };
    while (left.isReady && right.isReady) {
      const [one, two] = [left.current, right.current];
      if (one === undefined && two === undefined) break;
      if (two === undefined || (one !== undefined && one.id < two.id)) {
        if (one !== undefined) note(one, 'missing');
        left.advance();
      } else if (one === undefined || two.id < one.id) {
        note(two, 'additional');
        right.advance();
      } else {
        if (!isSamePlant(one, two)) note(one, 'different');
        left.advance();
        right.advance();
      }
    }
  }
}

/** A position in the plants of a snapshot. */
class Cursor {
  count = 0;
  readonly #pages;
  #page: readonly StoredPlant[] = [];
  #index = 0;
  #isAtEnd = false;

  constructor(snapshot: PlantSnapshot) {
    this.#pages = snapshot.pages()[Symbol.asyncIterator]();
  }

  /** Undefined at the end of the plants. */
  get current(): StoredPlant | undefined {
    return this.#page[this.#index];
  }

  /** False at the end of a page, unless it is the last one. */
  get isReady(): boolean {
    return this.#isAtEnd || this.#index < this.#page.length;
  }

  advance(): void {
    this.#index += 1;
    this.count += 1;
  }

  /** Loads the next page if this one has ended. */
  async load(): Promise<void> {
    if (this.isReady) return;
    const next = await this.#pages.next();
    this.#isAtEnd = next.done === true;
    this.#page = next.done === true ? [] : next.value;
    this.#index = 0;
  }
}

/** Describes the differences in words. */
export function describeDifferences({ differences, examples }: Comparison): string {
  const { missing, additional, different } = differences;
  const first = examples.map(({ id, difference }) => `${id} (${difference})`).join(', ');
  return `${missing} missing, ${additional} additional, ${different} different; the first ids: ${first}`;
}
