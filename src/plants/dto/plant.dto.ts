import { Expose } from 'class-transformer';
import { ValidateIf } from 'class-validator';
import { IsText } from './is-text.js';

/** The Plant of the contract. */
export class PlantDto {
  @Expose()
  @IsText()
  name!: string;

  // Not IsOptional, which takes null as well: the field may be absent, it is not nullable.
  @ValidateIf((_plant, value) => value !== undefined)
  @Expose()
  @IsText()
  tag?: string;
}
