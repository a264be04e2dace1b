import 'reflect-metadata';
import { registerDecorator } from 'class-validator';
import type { Rule } from './rules.js';

/** A field of a DTO, with its rule. */
export interface RuledField<Dto> extends Rule {
  readonly name: keyof Dto & string;
}

/** The key of the fields in the metadata of a DTO. */
const FIELDS = Symbol('FIELDS');

/** Validates a field with class-validator, like its own decorators, and lists the field for `fieldsOf`. */
export function Field({ isValid, describe }: Rule): PropertyDecorator {
  return (target, propertyName) => {
    const name = String(propertyName);
    registerDecorator({
      name: 'field',
      target: target.constructor,
      propertyName: name,
      validator: {
        validate: isValid,
        defaultMessage: (validation) => `$property must be ${describe(validation?.value)}`,
      },
    });
    const fields: unknown = Reflect.getMetadata(FIELDS, target) ?? [];
    Reflect.defineMetadata(FIELDS, [...(fields as object[]), { name, isValid, describe }], target);
  };
}

/** Returns the fields of a DTO, those of its parent first. */
export function fieldsOf<Dto>({ prototype }: { readonly prototype: Dto & object }): readonly RuledField<Dto>[] {
  return Reflect.getMetadata(FIELDS, prototype) as readonly RuledField<Dto>[];
}

/** Copies the fields of a DTO that an object has, and returns the DTO. */
export function copyFields<Dto>(
  dto: Dto,
  fields: readonly RuledField<Dto>[],
  from: { readonly [Name in keyof Dto]?: unknown },
): Dto {
  for (const { name } of fields) {
    if (from[name] !== undefined) dto[name] = from[name] as Dto[typeof name];
  }
  return dto;
}
