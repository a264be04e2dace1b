import { validateSync } from 'class-validator';
import { ContractException } from '../../contract/contract.exception.js';
import { IsInt64, IsText, MayBeAbsent } from './field-rules.js';

/** The Plant of the contract. */
export class PlantDto {
  @IsText()
  name!: string;

  @MayBeAbsent()
  @IsText({ insteadOfNull: 'leave it out if there is none' })
  tag?: string | undefined;
}

/** The NewPlant of the contract: a Plant and its id. */
export class NewPlantDto extends PlantDto {
  @IsInt64()
  id!: bigint;
}

/**
 * Marks a NewPlant that PlantsService need not validate again. Only `toNewPlant` makes it: the package does not export
 * this class.
 */
export class ValidNewPlant extends NewPlantDto {}

/**
 * Takes the fields of a NewPlant from any value, and validates them by the decorators. Other members are ignored.
 *
 * Nest's ValidationPipe costs five times as much, and fails at deep values, which class-transformer copies recursively.
 *
 * @throws {ContractException} 422 if the value is not a NewPlant
 */
export function toNewPlant(value: unknown): ValidNewPlant {
  if (!isObject(value)) throw new ContractException(422);
  const { id, name, tag }: Partial<Record<keyof NewPlantDto, unknown>> = value;
  const plant = Object.assign(new NewPlantDto(), { id, name, tag });
  const errors = validateSync(plant, { validationError: { target: false, value: false } });
  // A copy: class-validator would name the id of a ValidNewPlant last, because all fields of that class are inherited.
  if (errors.length === 0) return Object.assign(new ValidNewPlant(), plant);
  const faults = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  throw new ContractException(422, `${faults.join('; ')}.`);
}

/** Returns whether a value of JSON is an object. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
