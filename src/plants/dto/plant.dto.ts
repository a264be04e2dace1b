import { Expose } from 'class-transformer';
import { validateSync } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { FIELD_NAMES, type FieldName } from '../../contract/plant-fields.js';
import { isNewPlant, IsPlantField } from './field-rules.js';

/**
 * The Plant of the contract. `isNewPlant` knows no decorator of class-validator but IsPlantField: a test refuses any other.
 * Expose is for hosts whose ClassSerializerInterceptor uses excludeAll.
 */
export class PlantDto {
  @Expose()
  @IsPlantField()
  name!: string;

  @Expose()
  @IsPlantField()
  tag?: string | undefined;
}

/** The NewPlant of the contract: a Plant and its id. */
export class NewPlantDto extends PlantDto {
  @IsPlantField()
  id!: bigint;
}

/**
 * A valid NewPlant. It is a type, because a host's global ValidationPipe with `validateCustomDecorators` runs before our pipe,
 * and would validate the request as the class of our parameter.
 */
export type NewPlant = Readonly<NewPlantDto>;

/** The fields of a NewPlant, whose values may have any type. */
export type NewPlantFields = Partial<Record<FieldName, unknown>>;

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
  const plant = new NewPlantDto();
  copyFields(FIELD_NAMES, fields, plant);
  if (!isNewPlant(plant)) throw new ContractException(422, describeFaults(plant));
  return plant;
}

/** The fields of a Plant: those of a NewPlant without the id. */
const ANSWERED_FIELDS = FIELD_NAMES.filter((name) => name !== 'id');

/** Returns the Plant of a NewPlant: its fields without the id. */
export function toPlant(newPlant: Readonly<PlantDto>): PlantDto {
  const plant = new PlantDto();
  copyFields(ANSWERED_FIELDS, newPlant, plant);
  return plant;
}

/** Copies those of the named fields that are not undefined. */
function copyFields(names: readonly FieldName[], from: Readonly<NewPlantFields>, to: NewPlantFields): void {
  for (const name of names) if (from[name] !== undefined) to[name] = from[name];
}

/** Returns the messages of the decorators. class-validator runs only here: see `isNewPlant`. */
function describeFaults(refused: NewPlantDto): string {
  const errors = validateSync(refused, { validationError: { target: false, value: false } });
  return `${errors.flatMap(({ constraints }) => Object.values(constraints ?? {})).join('; ')}.`;
}
