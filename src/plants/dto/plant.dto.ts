import { Expose } from 'class-transformer';
import { IsText } from './is-text.js';

/** The Plant of the contract. Expose is for hosts whose ClassSerializerInterceptor uses the strategy excludeAll. */
export class PlantDto {
  @Expose()
  @IsText()
  name!: string;

  // Not IsOptional, which also accepts null: the field may be absent, but it is not nullable.
  @Expose()
  @IsText({ validateIf: (_plant, value) => value !== undefined })
  tag?: string;
}
