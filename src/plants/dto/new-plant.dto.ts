import { validateSync } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { copyFields, Field, fieldsOf } from './field.decorator.js';
import { PlantDto } from './plant.dto.js';
import { INT64 } from './rules.js';

/** The NewPlant of the contract: a Plant and its id. */
export class NewPlantDto extends PlantDto {
  @Field(INT64)
  id!: bigint;
}

/** The fields of a NewPlant, whose values may have any type. */
export type NewPlantFields = Partial<Record<keyof NewPlantDto, unknown>>;

const FIELDS = fieldsOf(NewPlantDto);

/** The names of the fields of a NewPlant. */
export const NEW_PLANT_FIELDS: readonly string[] = FIELDS.map(({ name }) => name);

/**
 * Returns the fields of a NewPlant as a NewPlant; other fields are ignored.
 *
 * @throws {ContractException} 422 if they are not one
 */
export function toNewPlant(fields: Readonly<NewPlantFields>): NewPlantDto {
  const plant = copyFields(new NewPlantDto(), FIELDS, fields);
  // The rules alone: validateSync looks them up for each object, which takes as long as everything else here.
  if (FIELDS.every(({ name, isValid }) => isValid(plant[name]))) return plant;
  const errors = validateSync(plant, { validationError: { target: false, value: false } });
  const messages = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  throw new ContractException(422, `${messages.join('; ')}.`);
}
