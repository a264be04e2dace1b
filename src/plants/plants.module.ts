import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { BearerStrategy } from '../auth/bearer.strategy.js';
import { ContractExceptionFilter } from '../errors/contract-exception.filter.js';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { NewPlantPipe } from './new-plant.pipe.js';
import { PlantsController } from './plants.controller.js';
import { ConfigurableModuleClass } from './plants.module-definition.js';
import { optionProviders } from './plants.providers.js';
import { PlantsService } from './plants.service.js';

/** `POST /plants` and all that it takes, for any Nest application; nothing of it acts on other routes. */
@Module({
  controllers: [PlantsController],
  providers: [
    NewPlantPipe,
    PlantsService,
    GroupCommit,
    BearerAuthGuard,
    BearerStrategy,
    ContractExceptionFilter,
    ...optionProviders,
  ],
  exports: [BearerAuthGuard, ContractExceptionFilter],
})
export class PlantsModule extends ConfigurableModuleClass implements OnApplicationShutdown {
  constructor(
    private readonly repository: PlantRepository,
    private readonly commit: GroupCommit,
  ) {
    super();
  }

  /** Runs after the server has given its last answer. */
  async onApplicationShutdown(): Promise<void> {
    // Those whose client is gone are on their way, too.
    await this.commit.settled();
    await this.repository.close();
  }
}
