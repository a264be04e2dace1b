import { ValidateBy, type ValidationArguments } from 'class-validator';

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** U+0000 and unpaired surrogates, which not every store can hold. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

/** Returns whether the value is a bigint within the range of int64. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/** Returns whether the value is a string that every store can hold; the empty string is one. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !NOT_TEXT.test(value);
}

/** Requires a bigint within the range of int64. class-validator's IsInt and Min refuse bigints. */
export function IsInt64(): PropertyDecorator {
  const defaultMessage = (invalid?: ValidationArguments): string => {
    const hint = typeof invalid?.value === 'string' ? ': send it without quotation marks' : '';
    return `$property must be an integer from ${MIN_INT64} to ${MAX_INT64}${hint}`;
  };
  return ValidateBy({ name: 'isInt64', validator: { validate: isInt64, defaultMessage } });
}

/** Requires a string that every store can hold. */
export function IsText(): PropertyDecorator {
  const defaultMessage = (): string => '$property must be a string without U+0000 and unpaired surrogates';
  return ValidateBy({ name: 'isText', validator: { validate: isText, defaultMessage } });
}
