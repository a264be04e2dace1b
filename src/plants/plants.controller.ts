import { Controller, HttpCode, HttpStatus, Post, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { BearerAuthGuard, RequiresScope } from '../auth/bearer-auth.guard.js';
import { CurrentPrincipal } from '../auth/authenticated-request.js';
import type { Principal } from '../auth/token-verifier.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import type { NewPlantDto, PlantDto } from './dto/plant.dto.js';
import { NewPlantPipe, RequestContext } from './new-plant.pipe.js';
import { PLANTS_PATH } from './plants.module-definition.js';
import { PlantsService } from './plants.service.js';

/**
 * The operations of the contract. A host may version its routes; this path has no version. The guard and the filter are
 * bound here for hosts; in the service they are global (app.module.ts).
 */
@Controller({ path: PLANTS_PATH, version: VERSION_NEUTRAL })
@UseGuards(BearerAuthGuard)
@UseFilters(ContractExceptionFilter)
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @RequiresScope()
  create(
    // Not NewPlantDto itself, by which a host's global ValidationPipe would validate the request before our pipe.
    @RequestContext(NewPlantPipe) plant: Readonly<NewPlantDto>,
    @CurrentPrincipal() principal: Principal | undefined,
  ): Promise<PlantDto> {
    return this.plants.create(plant, { principal });
  }
}
