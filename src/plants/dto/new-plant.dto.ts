import { validateSync } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { IsInt64, isInt64 } from './is-int64.js';
import { isText } from './is-text.js';
import { PlantDto } from './plant.dto.js';

/** The NewPlant of the contract: a Plant and its id. */
export class NewPlantDto extends PlantDto {
  @IsInt64()
  id!: bigint;
}

/**
 * Returns the fields of a NewPlant, whose values may have any type, as a NewPlant.
 *
 * @throws {ContractException} 422 if they are not one
 */
export function toNewPlant({ id, name, tag }: Readonly<Partial<Record<'id' | 'name' | 'tag', unknown>>>): NewPlantDto {
  const plant = Object.assign(new NewPlantDto(), { id, name, tag });
  // The predicates of the DTO's decorators. validateSync looks their metadata up for each object, which takes longer than
  // everything else here.
  if (isInt64(plant.id) && isText(plant.name) && (plant.tag === undefined || isText(plant.tag))) return plant;
  const errors = validateSync(plant, { validationError: { target: false, value: false } });
  if (errors.length === 0) throw new Error('toNewPlant and NewPlantDto disagree');
  const messages = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  throw new ContractException(422, `${messages.join('; ')}.`);
}
