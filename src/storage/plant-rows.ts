import { randomInt } from 'node:crypto';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../contract/plant-fields.js';
import type { StoredPlant } from './plant-repository.js';

/** The columns of a row in SQL: `id, name, tag`. */
export const COLUMNS = FIELD_NAMES.join(', ');

/** A value of a row, for both drivers; null for an absent one. */
export type ColumnValue = bigint | string | null;

/** A row of a plant. Its values are in the order of COLUMNS. */
type PlantRow = readonly ColumnValue[];

/** Returns the row of a plant. */
export function rowOf(plant: StoredPlant): PlantRow {
  return FIELD_NAMES.map((name) => plant[name] ?? null);
}

/** Returns the plant of a row. */
export function plantOf(row: readonly unknown[]): StoredPlant {
  const plant: Partial<Record<FieldName, unknown>> = {};
  // Object.fromEntries would take six times as long.
  FIELD_NAMES.forEach((name, index) => {
    plant[name] = row[index] ?? undefined;
  });
  return plant as StoredPlant;
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
  return [trialPlant(id, () => true), trialPlant(id + 1n, (name) => PLANT_FIELDS[name].isRequired)];
}

function trialPlant(id: bigint, hasField: (name: FieldName) => boolean): StoredPlant {
  const values: Readonly<Record<FieldType, ColumnValue>> = { int64: id, text: `a${'\u{1fab4}'.repeat(1_000)}` };
  return plantOf(FIELD_NAMES.map((name) => (hasField(name) ? values[PLANT_FIELDS[name].type] : null)));
}
