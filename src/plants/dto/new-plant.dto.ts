import { IsInt64 } from './is-int64.js';
import { PlantDto } from './plant.dto.js';

/** The NewPlant of the contract: a Plant and its id. */
export class NewPlantDto extends PlantDto {
  @IsInt64()
  id!: bigint;
}
