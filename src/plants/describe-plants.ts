import type { INestApplicationContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type * as swagger from '@nestjs/swagger';
import { ERROR_TABLE } from '../contract/error-table.js';
import { TEXT_PATTERN } from './dto/is-text.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { PlantsController } from './plants.controller.js';
import { PlantsModule } from './plants.module.js';

type Swagger = typeof swagger;

/** The Error object of the contract. */
class ErrorDto {
  error!: number;
  message!: string;
}

/** Marks the handler and the controllers that have their metadata: a second decoration would repeat its texts. */
const Described = Reflector.createDecorator<boolean>();

/**
 * Adds the OpenAPI metadata of `POST /plants`, for `SwaggerModule.createDocument`. The document must declare the security
 * scheme `bearer`, unless `authentication` is false. These decorators are applied by a function, so that
 * `@nestjs/swagger` stays an optional package: it takes long to load.
 *
 * @param app the application; without it, every instance of the module is described as one that requires a token
 * @param options.prefix precedes the names of the schemas Plant, NewPlant and Error, which a host may have itself
 */
export async function describePlants(app?: INestApplicationContext, { prefix = 'PlantStore' } = {}): Promise<void> {
  const decorators = await import('@nestjs/swagger');
  describeSchemas(decorators, prefix);
  describeCreate(decorators);
  const guarded = app?.get(PlantsModule, { strict: false, each: true }).filter(({ requiresToken }) => requiresToken);
  for (const controller of guarded?.map(({ controller }) => controller) ?? [PlantsController]) {
    if (Reflect.hasOwnMetadata(Described.KEY, controller)) continue;
    Described(true)(controller);
    decorators.ApiBearerAuth()(controller);
  }
}

function describeSchemas({ ApiProperty, ApiPropertyOptional, ApiSchema }: Swagger, prefix: string): void {
  ApiSchema({ name: `${prefix}Plant` })(PlantDto);
  ApiProperty({ pattern: TEXT_PATTERN, description: 'The name of the plant.' })(PlantDto.prototype, 'name');
  ApiPropertyOptional({ pattern: TEXT_PATTERN, description: 'A tag that specifies the type of the plant.' })(
    PlantDto.prototype,
    'tag',
  );

  ApiSchema({ name: `${prefix}NewPlant` })(NewPlantDto);
  // Without minimum and maximum: JSON.stringify would round them to numbers that are no int64.
  ApiProperty({
    type: 'integer',
    format: 'int64',
    description: 'The identification number of the plant.',
  })(NewPlantDto.prototype, 'id');

  ApiSchema({ name: `${prefix}Error` })(ErrorDto);
  ApiProperty({
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
  })(ErrorDto.prototype, 'error');
  ApiProperty({
    type: 'string',
    description: 'One line for people: what is wrong, and what would be right.',
  })(ErrorDto.prototype, 'message');
}

function describeCreate({ ApiBody, ApiOperation, ApiResponse }: Swagger): void {
  const create = Object.getOwnPropertyDescriptor(
    PlantsController.prototype,
    'create',
  ) as TypedPropertyDescriptor<unknown>;
  const decorators = [
    Described(true),
    ApiOperation({ tags: ['Plants'], summary: 'Creates a new plant in the store.' }),
    ApiBody({ type: NewPlantDto, required: true }),
    ApiResponse({ status: 200, type: PlantDto, description: 'plant response' }),
    ApiResponse({
      status: 400,
      type: ErrorDto,
      description: 'unexpected error',
      headers: {
        'WWW-Authenticate': {
          description: 'With errors 401 and 403, the Bearer challenge (RFC 6750 §3).',
          schema: { type: 'string' },
        },
        Allow: {
          description: 'With error 405, the methods that the path supports.',
          schema: { type: 'string' },
        },
        'Retry-After': {
          description: 'With error 503, the seconds after which to send the same request again.',
          schema: { type: 'integer' },
        },
      },
    }),
  ];
  if (Reflect.hasMetadata(Described.KEY, create.value as object)) return;
  for (const decorate of decorators) decorate(PlantsController.prototype, 'create', create);
}
