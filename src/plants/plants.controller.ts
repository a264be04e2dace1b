import { Controller, HttpCode, HttpStatus, Post, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { BearerAuthGuard, RequiresScope } from '../auth/bearer-auth.guard.js';
import { CurrentPrincipal } from '../auth/authenticated-request.js';
import type { Principal } from '../auth/token-verifier.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import type { NewPlant, PlantDto } from './dto/plant.dto.js';
import { PlantFromBody } from './pipes/new-plant.pipe.js';
import { PlantCreator } from './plant-creator.js';
import { PLANTS_PATH } from './plants.module-definition.js';

/**
 * The operations of the contract. A host may version its routes; this path has no version. The guard and the filter are
 * bound here for hosts; in the service they are global (app.module.ts).
 */
@Controller({ path: PLANTS_PATH, version: VERSION_NEUTRAL })
@UseGuards(BearerAuthGuard)
@UseFilters(ContractExceptionFilter)
export class PlantsController {
  constructor(private readonly creator: PlantCreator) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @RequiresScope()
  create(@PlantFromBody() plant: NewPlant, @CurrentPrincipal() principal: Principal | undefined): Promise<PlantDto> {
    return this.creator.create(plant, principal);
  }
}
