import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsInt64 } from './is-int64.js';
import { PlantDto } from './plant.dto.js';

/** The NewPlant of the contract: a Plant and its id. */
@ApiSchema({ name: 'NewPlant' })
export class NewPlantDto extends PlantDto {
  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description: 'The identification number of the plant.',
  })
  @IsInt64()
  id!: bigint;
}
