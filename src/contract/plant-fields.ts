/** `int64` is a bigint in code, and an exact integer in JSON, CSV and SQL. */
export type FieldType = 'int64' | 'text';

interface PlantField {
  readonly type: FieldType;
  readonly isRequired: boolean;
}

/**
 * The fields of a NewPlant, in the order of columns and of CSV. The files of the data commands and the texts that name the
 * fields are made from this list.
 */
export const PLANT_FIELDS = {
  id: { type: 'int64', isRequired: true },
  name: { type: 'text', isRequired: true },
  tag: { type: 'text', isRequired: false },
} as const satisfies Record<string, PlantField>;

export type FieldName = keyof typeof PLANT_FIELDS;

export const FIELD_NAMES = Object.keys(PLANT_FIELDS) as readonly FieldName[];

/** Returns a list in words, such as `id, name or tag`. */
export function listed(words: readonly string[], conjunction: 'and' | 'or'): string {
  const last = words.at(-1) ?? '';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} ${conjunction} ${last}` : last;
}
