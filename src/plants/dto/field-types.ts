import { ValidateBy, type ValidationArguments } from 'class-validator';
import { FIELD_NAMES, type FieldType, PLANT_FIELDS } from '../../contract/plant-fields.js';

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** U+0000 and unpaired surrogates, which not every store can hold. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

const OPTIONAL_FIELDS: ReadonlySet<string> = new Set(FIELD_NAMES.filter((name) => !PLANT_FIELDS[name].isRequired));

/** Returns whether the value is a bigint within the range of int64. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/** Returns whether the value is a string that every store can hold; the empty string is one. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !NOT_TEXT.test(value);
}

/** The test of each type. */
export const IS_OF_TYPE: Readonly<Record<FieldType, (value: unknown) => boolean>> = { int64: isInt64, text: isText };

/** Requires a bigint within the range of int64. class-validator's IsInt and Min refuse bigints. */
export function IsInt64(): PropertyDecorator {
  const defaultMessage = (invalid?: ValidationArguments): string => {
    const hint = typeof invalid?.value === 'string' ? ': send it without quotation marks' : '';
    return `${describe(invalid, `an integer from ${MIN_INT64} to ${MAX_INT64}`)}${hint}`;
  };
  return ValidateBy({ name: 'isInt64', validator: { validate: isInt64, defaultMessage } });
}

/** Requires a string that every store can hold. */
export function IsText(): PropertyDecorator {
  const defaultMessage = (invalid?: ValidationArguments): string =>
    describe(invalid, 'a string without U+0000 and unpaired surrogates');
  return ValidateBy({ name: 'isText', validator: { validate: isText, defaultMessage } });
}

/** Says what is wrong with a field: it is missing, or not what it must be. */
function describe(invalid: ValidationArguments | undefined, required: string): string {
  if (invalid?.value === undefined) return `$property is missing: it must be ${required}`;
  const isNone = invalid.value === null && OPTIONAL_FIELDS.has(invalid.property);
  return `$property must be ${required}${isNone ? ': leave it out if there is none' : ''}`;
}
