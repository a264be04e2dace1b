import { Expose } from 'class-transformer';
import { copyFields, Field, fieldsOf } from './field.decorator.js';
import { optional, TEXT } from './rules.js';

/** The Plant of the contract. Expose is for hosts whose ClassSerializerInterceptor uses the strategy excludeAll. */
export class PlantDto {
  @Expose()
  @Field(TEXT)
  name!: string;

  @Expose()
  @Field(optional(TEXT))
  tag?: string;
}

const FIELDS = fieldsOf(PlantDto);

/** Returns the Plant of a NewPlant: its fields without the id. class-transformer's plainToInstance takes 2.5 µs. */
export function toPlant(newPlant: Readonly<PlantDto>): PlantDto {
  return copyFields(new PlantDto(), FIELDS, newPlant);
}
