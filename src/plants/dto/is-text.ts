import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';

/** U+0000, and half of a surrogate pair without its other half: the two that are no text in every store. */
const NO_TEXT = /[\0\p{Surrogate}]/u;

/** Checks that the value is a string that every store can hold as it is; the empty one is. */
export function IsText(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isText',
      validator: {
        validate: (value: unknown) => typeof value === 'string' && !NO_TEXT.test(value),
        defaultMessage: buildMessage(() => '$property must be a string without U+0000 and unpaired surrogates'),
      },
    },
    options,
  );
}
