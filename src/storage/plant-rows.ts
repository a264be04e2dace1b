import { FIELD_NAMES, type FieldName, PLANT_FIELDS } from '../contract/plant-fields.js';
import type { StoredPlant } from './plant-repository.js';

/** The columns of a row in SQL: `id, name, tag`. */
export const COLUMNS = FIELD_NAMES.join(', ');

/** A value of a row, for both drivers; null for an absent one. */
export type ColumnValue = bigint | string | null;

/** Returns the row of a plant, whose values are in the order of COLUMNS. */
export function rowOf(plant: StoredPlant): ColumnValue[] {
  return FIELD_NAMES.map((name) => plant[name] ?? null);
}

/** Returns the plant of a row. SQLite's driver returns an int64 as a bigint, and that of PostgreSQL as a text. */
export function plantOf(row: readonly unknown[]): StoredPlant {
  const plant: Partial<Record<FieldName, unknown>> = {};
  // Object.fromEntries would take six times as long.
  FIELD_NAMES.forEach((name, index) => {
    const value = row[index] ?? undefined;
    plant[name] = PLANT_FIELDS[name].type === 'int64' ? BigInt(value as bigint | string) : value;
  });
  return plant as StoredPlant;
}
