import { Expose } from 'class-transformer';
import { ValidateIf, validateSync } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { FIELD_NAMES, PLANT_FIELDS } from '../../contract/plant-fields.js';
import { IS_OF_TYPE, IsInt64, IsText } from './field-types.js';

/** The Plant of the contract. Expose is for hosts whose ClassSerializerInterceptor uses the strategy excludeAll. */
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

/** The fields of a Plant: those of a NewPlant without the id. */
const ANSWERED_FIELDS = FIELD_NAMES.filter((name) => name !== 'id');

/** @throws {ContractException} 422 unless the value is an object that may have fields */
export function assertFields(value: unknown): NewPlantFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ContractException(422);
  return value;
}

/**
 * Returns the fields of a NewPlant as a NewPlant; other fields are ignored.
 *
 * @throws {ContractException} 422 if they are not one
 */
export function toNewPlant(fields: unknown): NewPlantDto {
  const plant = copyFields(new NewPlantDto(), FIELD_NAMES, assertFields(fields));
  if (!isNewPlant(plant)) throw new ContractException(422, describeFaults(plant));
  return plant;
}

/**
 * Returns whether fields are a NewPlant, as the decorators would say. validateSync looks the decorators up for each object,
 * which would be a tenth of a create: it is called for refused plants alone. A property test compares the two.
 */
export function isNewPlant(fields: NewPlantFields): boolean {
  return FIELD_NAMES.every((name) => {
    const { type, isRequired } = PLANT_FIELDS[name];
    return IS_OF_TYPE[type](fields[name]) || (!isRequired && fields[name] === undefined);
  });
}

/** Returns what the decorators say about each field that is wrong. */
function describeFaults(refused: NewPlantDto): string {
  const errors = validateSync(refused, { validationError: { target: false, value: false } });
  return `${errors.flatMap(({ constraints }) => Object.values(constraints ?? {})).join('; ')}.`;
}

/** Returns the Plant of a NewPlant: its fields without the id. */
export function toPlant(newPlant: Readonly<PlantDto>): PlantDto {
  return copyFields(new PlantDto(), ANSWERED_FIELDS, newPlant);
}

/** Copies the fields of a DTO that an object has. */
function copyFields<Dto>(
  dto: Dto,
  names: readonly (keyof Dto)[],
  from: { readonly [Name in keyof Dto]?: unknown },
): Dto {
  for (const name of names) {
    if (from[name] !== undefined) dto[name] = from[name] as Dto[typeof name];
  }
  return dto;
}
