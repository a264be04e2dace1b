import { Body, Controller, HttpCode, Post, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiBadRequestResponse, ApiBearerAuth, ApiBody, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { BearerAuthGuard, RequiresScope } from '../auth/bearer-auth.guard.js';
import { ContractExceptionFilter } from '../errors/contract-exception.filter.js';
import { ErrorDto } from '../errors/error.dto.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { NewPlantPipe } from './new-plant.pipe.js';
import { PlantsService } from './plants.service.js';

/** The operations of the contract. */
// A host may version its routes; the path of this one is the contract's.
@Controller({ path: 'plants', version: VERSION_NEUTRAL })
@UseGuards(BearerAuthGuard)
@UseFilters(ContractExceptionFilter)
@ApiBearerAuth()
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @RequiresScope(true)
  @ApiOperation({
    operationId: 'createPlant',
    summary: 'Creates a new plant in the store.',
  })
  @ApiBody({ type: NewPlantDto, required: true })
  @ApiOkResponse({ type: PlantDto, description: 'plant response' })
  @ApiBadRequestResponse({
    type: ErrorDto,
    description: 'unexpected error',
    headers: {
      'WWW-Authenticate': {
        description: 'With errors 401 and 403, the Bearer challenge (RFC 6750 §3).',
        schema: { type: 'string' },
      },
      Allow: {
        description: 'With error 405, the methods that the path takes.',
        schema: { type: 'string' },
      },
      'Retry-After': {
        description: 'With error 503, the seconds after which to send the same request again.',
        schema: { type: 'integer' },
      },
    },
  })
  create(@Body(NewPlantPipe) plant: NewPlantDto): Promise<PlantDto> {
    return this.plants.create(plant);
  }
}
