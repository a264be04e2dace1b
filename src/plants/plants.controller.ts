import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { BearerAuthGuard, RequiresScope } from '../auth/bearer-auth.guard.js';
import { ContractExceptionFilter } from '../errors/contract-exception.filter.js';
import { type Reply, send } from '../errors/send.js';
import { NewPlantPipe } from './new-plant.pipe.js';
import { bodyOf, type PlantRequest } from './plant-request.js';
import { PlantsService } from './plants.service.js';

/** The operations of the contract; their answers stay as they are, whatever a host has made global. */
// A host may version its routes; the path of this one is the contract's.
@Controller({ path: 'plants', version: VERSION_NEUTRAL })
@UseGuards(BearerAuthGuard)
@UseFilters(ContractExceptionFilter)
export class PlantsController {
  constructor(
    private readonly plants: PlantsService,
    private readonly pipe: NewPlantPipe,
    private readonly filter: ContractExceptionFilter,
  ) {}

  /** A host's pipes alter what Nest hands to a handler, its interceptors what a handler returns or throws. */
  @Post()
  @RequiresScope(true)
  async create(@Req() request: PlantRequest, @Res() response: Reply | ServerResponse): Promise<void> {
    try {
      const plant = this.pipe.transform(await bodyOf(request));
      send(response, await this.plants.create(plant));
    } catch (thrown) {
      this.filter.answer(thrown, request, response);
    }
  }
}
