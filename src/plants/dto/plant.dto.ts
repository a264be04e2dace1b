import { Expose } from 'class-transformer';
import { IsText } from './is-text.js';

/** The Plant of the contract. */
export class PlantDto {
  @Expose()
  @IsText()
  name!: string;

  // Not IsOptional, which takes null as well: the field may be absent, it is not nullable.
  @Expose()
  @IsText({ validateIf: (_plant, value) => value !== undefined })
  tag?: string;
}
