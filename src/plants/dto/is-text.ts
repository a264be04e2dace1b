import type { Rule } from './field.decorator.js';

/** U+0000 and unpaired surrogates, which not every store can hold. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

/** Returns whether the value is a string that every store can hold; the empty string is one. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !NOT_TEXT.test(value);
}

/** The rule of a text. */
export const TEXT: Rule = {
  isValid: isText,
  describe: () => 'a string without U+0000 and unpaired surrogates',
};
