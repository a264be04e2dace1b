import { randomInt } from 'node:crypto';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../contract/plant-fields.js';
import { type ColumnValue, plantOf, type PlantRow } from './plant-rows.js';
import type { StoredPlant } from './plant-repository.js';

/** A text that other types, lengths and encodings of a column refuse or change. */
const LONG_TEXT = `a${'\u{1fab4}'.repeat(1_000)}`;

/** A text that SQLite stores as a number in a column of the type STRING, which is no type of SQLite. */
const DIGITS = '007';

/**
 * Returns plants to try a table with, in a transaction that is rolled back: two with every field, and one with the required
 * fields. A table with other types or lengths, another encoding, unique names or a required tag refuses or changes them. The
 * ids are random, so that no client's plant has one and waits for the transaction.
 */
export function trialPlants(): StoredPlant[] {
  const id = -(2n ** 62n) - BigInt(randomInt(2 ** 47));
  return [
    trialPlant(id, LONG_TEXT, () => true),
    trialPlant(id + 1n, LONG_TEXT, (name) => PLANT_FIELDS[name].isRequired),
    trialPlant(id + 2n, DIGITS, () => true),
  ];
}

function trialPlant(id: bigint, text: string, hasField: (name: FieldName) => boolean): StoredPlant {
  const values: Readonly<Record<FieldType, ColumnValue>> = { int64: id, text };
  return plantOf(FIELD_NAMES.map((name) => (hasField(name) ? values[PLANT_FIELDS[name].type] : null)));
}

/** Returns whether the database has stored the row of a trial plant as it is. */
export function isSameRow(row: PlantRow, stored: readonly unknown[]): boolean {
  return row.every((value, index) => value === stored[index]);
}
