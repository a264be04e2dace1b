import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { Expose } from 'class-transformer';
import { ValidateIf } from 'class-validator';
import { IsText } from './is-text.js';

/** The Plant of the contract. */
@ApiSchema({ name: 'Plant' })
export class PlantDto {
  @ApiProperty({ description: 'The name of the plant.' })
  @Expose()
  @IsText()
  name!: string;

  @ApiPropertyOptional({
    description: 'A tag that specifies the type of the plant.',
  })
  // Not IsOptional, which takes null as well: the field may be absent, it is not nullable.
  @ValidateIf((_plant, value) => value !== undefined)
  @Expose()
  @IsText()
  tag?: string;
}
