import type { StoredPlant } from './plant-repository.js';
import { UnusableDatabaseError } from './errors.js';

/** The engines of databases. */
export type Engine = 'sqlite' | 'postgres';

/** A type of columns: what each engine calls it, and how the values of a page are read. */
interface ColumnType extends Readonly<Record<Engine, string>> {
  /** Reads a JSON array of values, with null for an absent one. */
  readonly parse: (json: string) => readonly unknown[];
}

interface PlantColumn extends ColumnType {
  readonly isRequired: boolean;
}

/** A number of JSON.parse cannot hold an int64. */
const INT64: ColumnType = {
  sqlite: 'INTEGER',
  postgres: 'bigint',
  parse: (json) => (json.match(/-?\d+/g) ?? []).map(BigInt),
};

const TEXT: ColumnType = { sqlite: 'TEXT', postgres: 'text', parse: (json) => JSON.parse(json) as unknown[] };

/**
 * The columns of the table of plants: the one list from which all SQL, the comparison of a repeated id, and the files of
 * the data commands are made. A further column has a step in both schemas, too.
 */
const PLANT_COLUMNS: Readonly<Record<keyof StoredPlant, PlantColumn>> = {
  id: { ...INT64, isRequired: true },
  name: { ...TEXT, isRequired: true },
  tag: { ...TEXT, isRequired: false },
};

/**
 * The names of the columns, which are the fields of a plant, in the order of each row: `COLUMN_NAMES.join()` is the
 * header of a CSV file, and a list of columns in SQL.
 */
export const COLUMN_NAMES = Object.keys(PLANT_COLUMNS) as readonly (keyof StoredPlant)[];

/** A value of a column. */
export type PlantValue = NonNullable<StoredPlant[keyof StoredPlant]> | null;

/** A row of the table of plants, in the order of the columns; null for an absent value. */
export type PlantRow = readonly unknown[];

/** Returns the plant of a row. */
export function plantOf(row: PlantRow): StoredPlant {
  const plant: Partial<Record<keyof StoredPlant, unknown>> = {};
  COLUMN_NAMES.forEach((name, index) => (plant[name] = row[index] ?? undefined));
  return plant as StoredPlant;
}

/** Returns the row of a plant. */
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

/** A column of a table, as the catalog of the engine describes it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  /** True if an INSERT must have a value for it. */
  readonly isRequired: boolean;
  /** True if its values are unique by themselves, and not together with those of other columns. */
  readonly isUnique: boolean;
}

/**
 * Checks that a table named plants is the one that this program makes. Additional columns are allowed, unless an INSERT
 * must have a value for them.
 *
 * @param advice completes the message for the operator
 * @throws {UnusableDatabaseError} when it is a table of another program
 */
export function assertPlantColumns(engine: Engine, table: string, columns: readonly Column[], advice: string): void {
  const difference = differenceOf(engine, columns);
  if (difference === undefined) return;
  throw new UnusableDatabaseError(`has a table ${table} of another program: ${difference}; ${advice}`);
}

function differenceOf(engine: Engine, columns: readonly Column[]): string | undefined {
  for (const name of COLUMN_NAMES) {
    const column = columns.find((column) => column.name === name);
    const type = PLANT_COLUMNS[name][engine];
    if (column === undefined) return `it has no column ${name}`;
    if (column.type !== type) return `its column ${name} has the type ${column.type} instead of ${type}`;
  }
  if (columns.find(({ name }) => name === 'id')?.isUnique !== true) return 'its column id is not a key';
  const required = columns.find(({ name, isRequired }) => isRequired && !isRequiredOfPlants(name));
  return required && `its column ${required.name} must have a value`;
}

/** Returns whether every plant has a value in this column. */
export function isRequiredOfPlants(name: string): boolean {
  return Object.entries(PLANT_COLUMNS).some(([column, { isRequired }]) => column === name && isRequired);
}
