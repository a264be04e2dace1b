import { Expose } from 'class-transformer';
import { validateSync } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { FIELD_NAMES, type FieldName } from '../../contract/plant-fields.js';
import { isFieldValue, IsInt64, IsText, MayBeMissing } from './field-rules.js';

/**
 * The Plant of the contract. `isNewPlant` decides by PLANT_FIELDS, and the decorators say what is wrong. One that contradicts
 * PLANT_FIELDS does not compile. Any other one would have no effect: a test refuses it. Expose is for hosts whose
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
  return FIELD_NAMES.every((name) => isFieldValue(name, fields[name]));
}

/** Returns what is wrong with each field that the decorators refuse. */
function describeFaults(refused: NewPlantDto): string {
  const errors = validateSync(refused, { validationError: { target: false, value: false } });
  return `${errors.flatMap(({ constraints }) => Object.values(constraints ?? {})).join('; ')}.`;
}
