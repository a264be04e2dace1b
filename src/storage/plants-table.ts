import { randomInt } from 'node:crypto';
import type { StoredPlant } from './plant-repository.js';

/** A value of a row, for both drivers; null for an absent one. */
export type ColumnValue = bigint | string | null;

/** A row of a plant. All SQL names the columns in this order. */
type PlantRow = readonly [id: bigint, name: string, tag: string | null];

/** Returns the row of a plant. */
export function rowOf({ id, name, tag }: StoredPlant): PlantRow {
  return [id, name, tag ?? null];
}

/** Returns the plant of a row. */
export function plantOf(row: readonly unknown[]): StoredPlant {
  const [id, name, tag] = row as PlantRow;
  return { id, name, tag: tag ?? undefined };
}

/** Returns whether the database has stored a row as it is. */
export function isSameRow(row: PlantRow, stored: readonly unknown[]): boolean {
  return row.every((value, index) => value === stored[index]);
}

/**
 * Returns plants to try a table with, in a transaction that is rolled back: one with every field, and one with the required
 * fields. A table with other types or lengths, another encoding, unique names or a required tag refuses or changes them. The
 * ids are random, so that no client's plant has one and waits for the transaction.
 */
export function trialPlants(): StoredPlant[] {
  const id = -(2n ** 62n) - BigInt(randomInt(2 ** 47));
  const name = `a${'\u{1fab4}'.repeat(1_000)}`;
  const complete: Required<StoredPlant> = { id, name, tag: name };
  return [complete, { id: id + 1n, name }];
}
