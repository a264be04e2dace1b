import { Expose } from 'class-transformer';
import { ValidateBy, ValidateIf, validateSync, type ValidationArguments } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { FIELD_NAMES, type FieldName, type FieldType, PLANT_FIELDS } from '../../contract/plant-fields.js';

/**
 * The Plant of the contract. `isNewPlant` validates by PLANT_FIELDS. The decorators only produce the messages of refusals.
 * Change both: a test compares them. Expose is for hosts whose ClassSerializerInterceptor uses excludeAll.
 */
export class PlantDto {
  @Expose()
  @IsText()
  name!: string;

  // IsOptional would accept null, too.
  @Expose()
  @ValidateIf((_plant, tag) => tag !== undefined)
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

/** The test of each type. */
const IS_OF_TYPE: Readonly<Record<FieldType, (value: unknown) => boolean>> = { int64: isInt64, text: isText };

/** Returns what validateSync would decide. To call that for each plant would take a tenth of a create. */
export function isNewPlant(fields: NewPlantFields): boolean {
  return FIELD_NAMES.every((name) => {
    const { type, isRequired } = PLANT_FIELDS[name];
    return IS_OF_TYPE[type](fields[name]) || (!isRequired && fields[name] === undefined);
  });
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

/** Returns what the decorators say about each field that is wrong. */
function describeFaults(refused: NewPlantDto): string {
  const errors = validateSync(refused, { validationError: { target: false, value: false } });
  return `${errors.flatMap(({ constraints }) => Object.values(constraints ?? {})).join('; ')}.`;
}

/** Requires a bigint within the range of int64. class-validator's IsInt and Min refuse bigints. */
function IsInt64(): PropertyDecorator {
  const defaultMessage = (invalid?: ValidationArguments): string => {
    const hint = typeof invalid?.value === 'string' ? ': send it without quotation marks' : '';
    return `${describe(invalid, `an integer from ${MIN_INT64} to ${MAX_INT64}`)}${hint}`;
  };
  return ValidateBy({ name: 'isInt64', validator: { validate: isInt64, defaultMessage } });
}

/** Requires a string that every store can hold. */
function IsText(): PropertyDecorator {
  const defaultMessage = (invalid?: ValidationArguments): string =>
    describe(invalid, 'a string without U+0000 and unpaired surrogates');
  return ValidateBy({ name: 'isText', validator: { validate: isText, defaultMessage } });
}

const OPTIONAL_FIELDS: ReadonlySet<string> = new Set(FIELD_NAMES.filter((name) => !PLANT_FIELDS[name].isRequired));

/** Says what is wrong with a field: it is missing, or not what it must be. */
function describe(invalid: ValidationArguments | undefined, required: string): string {
  if (invalid?.value === undefined) return `$property is missing: it must be ${required}`;
  const isNone = invalid.value === null && OPTIONAL_FIELDS.has(invalid.property);
  return `$property must be ${required}${isNone ? ': leave it out if there is none' : ''}`;
}
