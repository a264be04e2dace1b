import type { Rule } from './field.decorator.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Returns whether the value is a bigint within the range of int64. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN && value <= MAX;
}

/** The rule of an int64; class-validator's IsInt and Min refuse bigints. */
export const INT64: Rule = {
  isValid: isInt64,
  describe: (value) =>
    `an integer from ${MIN} to ${MAX}` + (typeof value === 'string' ? ': send it without quotation marks' : ''),
};
