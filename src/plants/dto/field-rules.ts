import { ValidateBy, ValidateIf, type ValidationArguments } from 'class-validator';

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** Matches U+0000 and, because of the flag u, only unpaired surrogates: not every store can hold these. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

interface Rule {
  readonly name: string;
  readonly validate: (value: unknown) => boolean;
  /** Describes a valid value, for messages. */
  readonly words: string;
  /** Says how to correct a value that is not valid. */
  readonly hint?: (value: unknown) => string | undefined;
}

/** Requires a bigint within the range of int64. IsInt, Min and Max of class-validator refuse bigints. */
export function IsInt64(): PropertyDecorator {
  return rule({
    name: 'isInt64',
    validate: (value) => typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64,
    words: `an integer from ${MIN_INT64} to ${MAX_INT64}`,
    hint: (value) => {
      if (typeof value === 'string') return 'send it without quotation marks';
      // Its digits alone would have become a bigint.
      const isInexact = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(Number(value)) <= 2 ** 63;
      return isInexact ? 'send its digits alone, without a point or an exponent' : undefined;
    },
  });
}

/**
 * Requires a string that every store can hold, even if it is empty.
 *
 * @param options.insteadOfNull says what to send instead of null
 */
export function IsText({ insteadOfNull }: { readonly insteadOfNull?: string } = {}): PropertyDecorator {
  return rule({
    name: 'isText',
    validate: (value) => typeof value === 'string' && !NOT_TEXT.test(value),
    words: 'a string without U+0000 and unpaired surrogates',
    hint: (value) => (value === null ? insteadOfNull : undefined),
  });
}

/** Lets a field be absent. IsOptional of class-validator also accepts null. */
export function MayBeAbsent(): PropertyDecorator {
  return ValidateIf((_dto, value) => value !== undefined);
}

function rule({ name, validate, words, hint }: Rule): PropertyDecorator {
  const defaultMessage = (refused?: ValidationArguments): string => {
    const value: unknown = refused?.value;
    if (value === undefined) return `$property is missing: it must be ${words}`;
    return [`$property must be ${words}`, hint?.(value)].filter(Boolean).join(': ');
  };
  return ValidateBy({ name, validator: { validate, defaultMessage } });
}
