import { registerDecorator, type ValidationOptions } from 'class-validator';

/** U+0000 and unpaired surrogates, which not every store can hold. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

/**
 * The same rule as a pattern for the OpenAPI document. It holds with and without the flag u: without it, as many tools
 * compile patterns, a pair of surrogates is two characters.
 */
export const TEXT_PATTERN =
  '^[^\\u0000\\uD800-\\uDFFF]*(?:[\\uD800-\\uDBFF][\\uDC00-\\uDFFF][^\\u0000\\uD800-\\uDFFF]*)*$';

/** Returns whether the value is a string that every store can hold. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !NOT_TEXT.test(value);
}

/** Checks that the value is a string that every store can hold; the empty string is one. */
export function IsText(options: ValidationOptions = {}): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isText',
      target: target.constructor,
      propertyName: String(propertyName),
      options,
      validator: {
        validate: isText,
        defaultMessage: () => '$property must be a string without U+0000 and unpaired surrogates',
      },
    });
}
