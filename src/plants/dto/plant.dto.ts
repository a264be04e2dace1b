import { Expose } from 'class-transformer';
import { ValidateBy, ValidateIf, validateSync, type ValidationArguments } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../../contract/plant-fields.js';

/**
 * The Plant of the contract. A decorator that contradicts PLANT_FIELDS does not compile. Expose is for hosts whose
 * ClassSerializerInterceptor uses excludeAll.
 */
export class PlantDto {
  @Expose()
  @IsText()
  name!: string;

  @Expose()
  @MayBeMissing()
  @IsText()
  tag?: string | undefined;
}

/** The NewPlant of the contract: a Plant and its id. */
export class NewPlantDto extends PlantDto {
  @IsInt64()
  id!: bigint;
}

/** The fields of a NewPlant, whose values may have any type. */
export type NewPlantFields = Partial<Record<keyof NewPlantDto, unknown>>;

/** @throws {ContractException} 422 unless the value is an object, and not an array */
export function assertFields(value: unknown): NewPlantFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ContractException(422);
  return value;
}

/**
 * Returns the fields of a NewPlant as a NewPlant; other fields are ignored.
 *
 * @throws {ContractException} 422 if the fields are not a NewPlant
 */
export function toNewPlant(fields: NewPlantFields): NewPlantDto {
  const plant = copyFields(new NewPlantDto(), FIELD_NAMES, fields);
  if (!isNewPlant(plant)) throw new ContractException(422, describeFaults(plant));
  return plant;
}

/** The fields of a Plant: those of a NewPlant without the id. */
const ANSWERED_FIELDS = FIELD_NAMES.filter((name) => name !== 'id');

/** Returns the Plant of a NewPlant: its fields without the id. */
export function toPlant(newPlant: Readonly<PlantDto>): PlantDto {
  return copyFields(new PlantDto(), ANSWERED_FIELDS, newPlant);
}

/** Copies the named fields that an object has into a DTO. */
function copyFields<Dto extends NewPlantFields>(dto: Dto, names: readonly FieldName[], from: NewPlantFields): Dto {
  const target: NewPlantFields = dto;
  for (const name of names) if (from[name] !== undefined) target[name] = from[name];
  return dto;
}

/** Returns what validateSync would decide. To call that for each plant would take a tenth of a create. */
export function isNewPlant(fields: NewPlantFields): boolean {
  return FIELD_NAMES.every((name) => {
    const { type, isRequired } = PLANT_FIELDS[name];
    return (!isRequired && fields[name] === undefined) || TYPE_RULES[type].accepts(fields[name]);
  });
}

/** Returns what is wrong with each field that the decorators refuse. */
function describeFaults(refused: NewPlantDto): string {
  const errors = validateSync(refused, { validationError: { target: false, value: false } });
  return `${errors.flatMap(({ constraints }) => Object.values(constraints ?? {})).join('; ')}.`;
}

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** Returns whether the value is a bigint within the range of int64. */
function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/** Matches U+0000 and, because of the flag u, only unpaired surrogates: not every store can hold these. */
const NOT_TEXT = /[\0\p{Surrogate}]/u;

/** Returns whether the value is a string that every store can hold, even if it is empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !NOT_TEXT.test(value);
}

interface TypeRule {
  readonly accepts: (value: unknown) => boolean;
  /** The rule in words, for messages. */
  readonly words: string;
}

const TYPE_RULES: Readonly<Record<FieldType, TypeRule>> = {
  int64: { accepts: isInt64, words: `an integer from ${MIN_INT64} to ${MAX_INT64}` },
  text: { accepts: isText, words: 'a string without U+0000 and unpaired surrogates' },
};

/** A decorator that compiles only at fields whose row of PLANT_FIELDS has these members. */
type FieldDecorator<Row> = (
  dto: object,
  name: { [Name in FieldName]: (typeof PLANT_FIELDS)[Name] extends Row ? Name : never }[FieldName],
) => void;

/** Lets a field be missing. class-validator's IsOptional would let it be null, too. */
function MayBeMissing(): FieldDecorator<{ isRequired: false }> {
  return ValidateIf((_plant, value) => value !== undefined);
}

/** Requires a bigint within the range of int64. class-validator's IsInt and Min refuse bigints. */
function IsInt64(): FieldDecorator<{ type: 'int64' }> {
  return IsOfType('int64');
}

/** Requires a string that every store can hold. */
function IsText(): FieldDecorator<{ type: 'text' }> {
  return IsOfType('text');
}

function IsOfType<Type extends FieldType>(type: Type): FieldDecorator<{ type: Type }> {
  return (dto, name) => {
    const validate = (value: unknown): boolean => TYPE_RULES[type].accepts(value);
    const defaultMessage = (invalid?: ValidationArguments): string => describeFault(name, invalid?.value);
    ValidateBy({ name: type, validator: { validate, defaultMessage } })(dto, name);
  };
}

/** Says what a field must be, and how to correct the value that it has. */
function describeFault(name: FieldName, value: unknown): string {
  const { type, isRequired } = PLANT_FIELDS[name];
  const { words } = TYPE_RULES[type];
  if (value === undefined) return `${name} is missing: it must be ${words}`;
  if (value === null && !isRequired) return `${name} must be ${words}: leave it out if there is none`;
  if (type === 'int64' && typeof value === 'string') return `${name} must be ${words}: send it without quotation marks`;
  return `${name} must be ${words}`;
}
