import { randomInt } from 'node:crypto';
import type { StoredPlant } from './plant-repository.js';

interface PlantColumn {
  readonly isRequired: boolean;
  /** Reads a JSON array of values, with null for an absent one. */
  readonly parse: (json: string) => readonly unknown[];
}

/** A number of JSON.parse cannot hold an int64. */
const parseIntegers = (json: string): bigint[] => (json.match(/-?\d+/g) ?? []).map(BigInt);

const parseTexts = (json: string): unknown[] => JSON.parse(json) as unknown[];

/**
 * The columns of the table of plants: the one list from which all SQL, the comparison of a repeated id, and the files of
 * the data commands are made. A further column has a step in both schemas, too.
 */
const PLANT_COLUMNS: Readonly<Record<keyof StoredPlant, PlantColumn>> = {
  id: { isRequired: true, parse: parseIntegers },
  name: { isRequired: true, parse: parseTexts },
  tag: { isRequired: false, parse: parseTexts },
};

/**
 * The names of the columns, which are the fields of a plant, in the order of each row: `COLUMN_NAMES.join()` is the
 * header of a CSV file, and a list of columns in SQL.
 */
export const COLUMN_NAMES = Object.keys(PLANT_COLUMNS) as readonly (keyof StoredPlant)[];

const TEXTS = COLUMN_NAMES.filter((name) => PLANT_COLUMNS[name].parse === parseTexts);

/** The columns in SQL, with the texts only of plants for which the column `fits` is true. */
export const FITTING_COLUMNS = COLUMN_NAMES.map((name) =>
  TEXTS.includes(name) ? `CASE WHEN fits THEN ${name} END` : name,
).join();

/** Returns SQL for the bytes of a plant's texts together; `textOf` makes a text of a column. */
export function byteLengthIn(textOf: (column: string) => string): string {
  return TEXTS.map((name) => `coalesce(octet_length(${textOf(name)}), 0)`).join(' + ');
}

export type PlantValue = NonNullable<StoredPlant[keyof StoredPlant]> | null;

/** Returns the plant of a row, whose values are in the order of the columns; null for an absent one. */
export function plantOf(row: readonly unknown[]): StoredPlant {
  const plant: Partial<Record<keyof StoredPlant, unknown>> = {};
  COLUMN_NAMES.forEach((name, index) => (plant[name] = row[index] ?? undefined));
  return plant as StoredPlant;
}

export function rowOf(plant: StoredPlant): PlantValue[] {
  return COLUMN_NAMES.map((name) => plant[name] ?? null);
}

/**
 * Returns the plants of a page, whose columns are arrays of JSON, or null if it is empty: the drivers take three times as
 * long to read a row for each plant.
 */
export function plantsOf(columns: readonly (string | null)[]): StoredPlant[] {
  const values = COLUMN_NAMES.map((name, index) => PLANT_COLUMNS[name].parse(columns[index] ?? '[]'));
  return (values[0] ?? []).map((_, index) => plantOf(values.map((column) => column[index])));
}

/** Returns whether a repeated id is the same plant: every field counts. */
export function isSamePlant(one: StoredPlant, other: StoredPlant): boolean {
  return COLUMN_NAMES.every((name) => one[name] === other[name]);
}

/** Returns the length of a plant's texts, for limits of memory. */
export function lengthOf(plant: StoredPlant): number {
  let length = 0;
  for (const name of COLUMN_NAMES) {
    const value = plant[name];
    if (typeof value === 'string') length += value.length;
  }
  return length;
}

/** Returns the bytes of a plant's texts together. */
export function byteLengthOf(plant: StoredPlant): number {
  return TEXTS.reduce((length, name) => length + Buffer.byteLength(String(plant[name] ?? '')), 0);
}

/** Returns whether every plant has a value in this column. */
export function isRequiredOfPlants(name: string): boolean {
  return Object.entries(PLANT_COLUMNS).some(([column, { isRequired }]) => column === name && isRequired);
}

/**
 * Returns plants with which to try out a table, in a transaction that is rolled back. No client waits for random ids, and
 * a table with other types or lengths, another encoding, names that are unique or a required tag does not take them as
 * they are.
 */
export function trialPlants(): StoredPlant[] {
  const id = -(2n ** 62n) - BigInt(randomInt(2 ** 47));
  const name = `a${'\u{1fab4}'.repeat(1_000)}`;
  return [
    { id, name, tag: 'a' },
    { id: id + 1n, name },
  ];
}
