import { randomInt } from 'node:crypto';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../contract/plant-fields.js';
import type { StoredPlant } from './plant-repository.js';

/** The columns of the table of plants in SQL, in the order of each row: the fields of a plant. */
export const COLUMN_LIST = FIELD_NAMES.join();

/** A value of a row, for both drivers; null for an absent one. */
export type ColumnValue = bigint | string | null;

/** Returns the plant of a row. */
export function plantOf(row: readonly unknown[]): StoredPlant {
  const plant: Partial<Record<FieldName, unknown>> = {};
  FIELD_NAMES.forEach((name, index) => (plant[name] = row[index] ?? undefined));
  return plant as StoredPlant;
}

/** Returns the row of a plant. */
export function rowOf(plant: StoredPlant): ColumnValue[] {
  return FIELD_NAMES.map((name) => plant[name] ?? null);
}

/** Returns whether the database has stored a row as it is. */
export function isSameRow(row: readonly ColumnValue[], stored: readonly unknown[] | undefined): boolean {
  return row.every((value, index) => value === stored?.[index]);
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
 * Returns plants with which to try out a table, in a transaction that is rolled back: one with every field, and one with
 * those that are required. No client waits for random ids, and a table with other types or lengths, another encoding,
 * names that are unique or a required tag does not take them as they are.
 */
export function trialPlants(): StoredPlant[] {
  const id = -(2n ** 62n) - BigInt(randomInt(2 ** 47));
  const values: Readonly<Record<FieldType, ColumnValue>> = { int64: id, text: `a${'\u{1fab4}'.repeat(1_000)}` };
  const rowWith = (has: (name: FieldName) => boolean): ColumnValue[] =>
    FIELD_NAMES.map((name) => (has(name) ? values[PLANT_FIELDS[name].type] : null));
  const complete = plantOf(rowWith(() => true));
  const minimal = plantOf(rowWith((name) => PLANT_FIELDS[name].isRequired));
  return [complete, { ...minimal, id: id + 1n }];
}
