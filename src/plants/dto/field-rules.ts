import { ValidateBy, type ValidationArguments } from 'class-validator';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../../contract/plant-fields.js';

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** Returns whether the value is a bigint within the range of int64. */
function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/** Matches U+0000 and, because of the flag u, only unpaired surrogates: not every store can hold these. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

/** Returns whether the value is a string that every store can hold, even if it is empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !NOT_TEXT.test(value);
}

interface TypeRule {
  readonly accepts: (value: unknown) => boolean;
  /** The rule in words, for messages. */
  readonly words: string;
}

const TYPE_RULES: Readonly<Record<FieldType, TypeRule>> = {
  int64: { accepts: isInt64, words: `an integer from ${MIN_INT64} to ${MAX_INT64}` },
  text: { accepts: isText, words: 'a string without U+0000 and unpaired surrogates' },
};

/**
 * Returns whether PLANT_FIELDS allows a value for a field. Both `isNewPlant` and the decorators ask this rule.
 *
 * @param value undefined if the field is missing
 */
function isFieldValue(name: FieldName, value: unknown): boolean {
  const { type, isRequired } = PLANT_FIELDS[name];
  return (!isRequired && value === undefined) || TYPE_RULES[type].accepts(value);
}

/**
 * Returns whether fields are a NewPlant, by the rule of the decorators. To ask validateSync would take 5 % of each create, and
 * half of an import, so that it only gets what is refused here, for the messages.
 */
export function isNewPlant(fields: Partial<Record<FieldName, unknown>>): boolean {
  return FIELD_NAMES.every((name) => isFieldValue(name, fields[name]));
}

/** Says what a field must be, and how to correct the value that it has. */
function describeFault(name: FieldName, value: unknown): string {
  const { type, isRequired } = PLANT_FIELDS[name];
  const { words } = TYPE_RULES[type];
  if (value === undefined) return `${name} is missing: it must be ${words}`;
  if (value === null && !isRequired) return `${name} must be ${words}: leave it out if there is none`;
  if (type === 'int64' && typeof value === 'string') return `${name} must be ${words}: send it without quotation marks`;
  return `${name} must be ${words}`;
}

/**
 * Requires a value that `isFieldValue` allows. class-validator's own rules would not do: IsInt and Min refuse bigints, and
 * IsOptional accepts null.
 */
export function IsPlantField(): (dto: object, name: FieldName) => void {
  return (dto, name) => {
    const validate = (value: unknown): boolean => isFieldValue(name, value);
    const defaultMessage = (invalid?: ValidationArguments): string => describeFault(name, invalid?.value);
    ValidateBy({ name: 'isPlantField', validator: { validate, defaultMessage } })(dto, name);
  };
}
