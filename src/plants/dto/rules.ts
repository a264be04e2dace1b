/** A rule for the values of a field. */
export interface Rule {
  readonly isValid: (value: unknown) => boolean;
  /** Completes "must be …" for a value that is not valid. */
  readonly describe: (value: unknown) => string;
}

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** A bigint within the range of int64; class-validator's IsInt and Min refuse bigints. */
export const INT64: Rule = {
  isValid: (value) => typeof value === 'bigint' && value >= MIN && value <= MAX,
  describe: (value) =>
    `an integer from ${MIN} to ${MAX}` + (typeof value === 'string' ? ': send it without quotation marks' : ''),
};

/** U+0000 and unpaired surrogates, which not every store can hold. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

/** A string that every store can hold; the empty string is one. */
export const TEXT: Rule = {
  isValid: (value) => typeof value === 'string' && !NOT_TEXT.test(value),
  describe: () => 'a string without U+0000 and unpaired surrogates',
};

/** Returns a rule that also lets a field be absent; null is a value. */
export function optional({ isValid, describe }: Rule): Rule {
  return { isValid: (value) => value === undefined || isValid(value), describe };
}
