import { ValidateBy, type ValidationArguments } from 'class-validator';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Returns whether the value is a bigint within the range of int64. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN && value <= MAX;
}

/** Requires a bigint within the range of int64. class-validator's IsInt and Min refuse bigints. */
export function IsInt64(): PropertyDecorator {
  return ValidateBy({ name: 'isInt64', validator: { validate: isInt64, defaultMessage } });
}

function defaultMessage(invalid?: ValidationArguments): string {
  const hint = typeof invalid?.value === 'string' ? ': send it without quotation marks' : '';
  return `$property must be an integer from ${MIN} to ${MAX}${hint}`;
}
