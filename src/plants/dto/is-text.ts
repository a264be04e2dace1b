import { ValidateBy } from 'class-validator';

/** U+0000 and unpaired surrogates. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

/** Returns whether the value is a string that every store can hold; the empty string is one. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !NOT_TEXT.test(value);
}

/** Requires a string that every store can hold. */
export function IsText(): PropertyDecorator {
  const defaultMessage = (): string => '$property must be a string without U+0000 and unpaired surrogates';
  return ValidateBy({ name: 'isText', validator: { validate: isText, defaultMessage } });
}
