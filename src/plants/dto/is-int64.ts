import { registerDecorator } from 'class-validator';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Returns whether the value is a bigint within the range of int64. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN && value <= MAX;
}

/** Checks that the value is an int64 as a bigint; class-validator's IsInt and Min refuse bigints. */
export function IsInt64(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isInt64',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: {
        validate: isInt64,
        defaultMessage: (validation) =>
          `$property must be an integer from ${MIN} to ${MAX}` +
          (typeof validation?.value === 'string' ? ': send it without quotation marks' : ''),
      },
    });
}
