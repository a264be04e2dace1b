import type { StoredPlant } from './plant-repository.js';

/** The columns of a row in SQL. */
export const COLUMNS = 'id, name, tag';

/** A value of a row, for both drivers; null for an absent one. */
export type ColumnValue = bigint | string | null;

/** Returns the row of a plant, whose values are in the order of COLUMNS. */
export function rowOf({ id, name, tag }: StoredPlant): ColumnValue[] {
  return [id, name, tag ?? null];
}

/** Returns the plant of a row. SQLite's driver returns an int64 as a bigint, and that of PostgreSQL as a text. */
export function plantOf(row: readonly unknown[]): StoredPlant {
  const [id, name, tag] = row as [bigint | string, string, string | null];
  return { id: BigInt(id), name, tag: tag ?? undefined };
}
