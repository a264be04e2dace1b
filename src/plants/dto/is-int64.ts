import { buildMessage, ValidateBy } from 'class-validator';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Checks that the value is a bigint of the int64 range; class-validator's own IsInt and Min refuse every bigint. */
export function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: (value: unknown) => typeof value === 'bigint' && value >= MIN && value <= MAX,
      defaultMessage: buildMessage(() => `$property must be an integer from ${MIN} to ${MAX}`),
    },
  });
}
