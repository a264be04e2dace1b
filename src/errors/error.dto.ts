import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ERROR_TABLE } from './error-table.js';

/** The Error object of the contract, as the documentation of embedding applications shows it. */
@ApiSchema({ name: 'Error' })
export class ErrorDto {
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    enum: Object.keys(ERROR_TABLE).map(Number),
    description: [
      'The HTTP status that would describe the failure; the status of the answer itself is always 400.',
      '',
      '| error | when |',
      '|---|---|',
      ...Object.entries(ERROR_TABLE).map(([number, { when }]) => `| ${number} | ${when} |`),
    ].join('\n'),
  })
  error!: number;

  @ApiProperty({ description: 'For people, in one line: what is wrong, and what would be right.' })
  message!: string;
}
