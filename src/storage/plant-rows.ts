import { FIELD_NAMES, type FieldName } from '../contract/plant-fields.js';
import type { StoredPlant } from './plant-repository.js';

/** The columns of a row in SQL: `id, name, tag`. */
export const COLUMNS = FIELD_NAMES.join(', ');

/** A value of a row, for both drivers; null for an absent one. */
export type ColumnValue = bigint | string | null;

/** A row of a plant. Its values are in the order of COLUMNS. */
export type PlantRow = readonly ColumnValue[];

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
