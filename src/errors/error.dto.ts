import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ERROR_TABLE } from './error-table.js';

/** The Error object of the contract, as the documentation of embedding applications shows it. */
@ApiSchema({ name: 'Error' })
export class ErrorDto {
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    enum: Object.keys(ERROR_TABLE).map(Number),
  })
  error!: number;

  @ApiProperty()
  message!: string;
}
