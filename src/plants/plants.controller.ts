import {
  Controller,
  HttpCode,
  HttpStatus,
  Post,
  type Type,
  UseFilters,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { BearerAuthGuard, RequiresScope } from '../auth/bearer-auth.guard.js';
import { CurrentPrincipal } from '../auth/current-principal.decorator.js';
import type { Principal } from '../auth/principal.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';
import { BodyPipe } from './pipes/body.pipe.js';
import { NewPlantPipe } from './pipes/new-plant.pipe.js';
import { PlantBody } from './plant-body.decorator.js';
import { PlantsService } from './plants.service.js';

/** The operations of the contract. Each instance of the module has a subclass with its path. */
@UseGuards(BearerAuthGuard)
@UseFilters(ContractExceptionFilter)
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  // Readonly<…> keeps the class out of the metadata of the parameter. A host's global ValidationPipe runs before our
  // pipes, and with `validateCustomDecorators` it would validate the request as a NewPlantDto.
  @Post()
  @HttpCode(HttpStatus.OK)
  @RequiresScope(true)
  create(
    @PlantBody(BodyPipe, NewPlantPipe) plant: Readonly<NewPlantDto>,
    @CurrentPrincipal() principal: Principal | undefined,
  ): Promise<PlantDto> {
    return this.plants.create(plant, { principal });
  }
}

/** Returns the controller of an instance: Nest reads the path from the class. */
export function plantsControllerAt(path: string, name = ''): Type<PlantsController> {
  // A host may version its routes; the path of these is the contract's.
  @Controller({ path, version: VERSION_NEUTRAL })
  class PlantsControllerAtPath extends PlantsController {}
  // For Nest's log lines, and for tags and operation ids of a host's OpenAPI document.
  const words = name.split(/[^\p{L}\p{N}]+/u).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  Object.defineProperty(PlantsControllerAtPath, 'name', { value: `${words.join('')}${PlantsController.name}` });
  return PlantsControllerAtPath;
}
