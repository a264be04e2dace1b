import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { BearerAuthOptions } from '../auth/bearer-auth-options.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { BearerStrategy } from '../auth/bearer.strategy.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { PlantsController } from './plants.controller.js';
import { PlantCreatedHook } from './plant-created.hook.js';
import { ConfigurableModuleClass } from './plants.module-definition.js';
import { optionProviders } from './plants.providers.js';
import { PlantsService } from './plants.service.js';

/** `POST /plants` for any Nest application. Nothing in this module acts on other routes. */
@Module({
  controllers: [PlantsController],
  providers: [PlantsService, GroupCommit, BearerAuthGuard, BearerStrategy, ContractExceptionFilter, ...optionProviders],
  exports: [BearerAuthGuard, BearerAuthOptions, ContractExceptionFilter],
})
export class PlantsModule extends ConfigurableModuleClass implements OnApplicationShutdown {
  constructor(
    private readonly repository: PlantRepository,
    private readonly groupCommit: GroupCommit,
    private readonly hook: PlantCreatedHook,
  ) {
    super();
  }

  /** Nest calls this after the server has sent its last answer. */
  async onApplicationShutdown(): Promise<void> {
    // Plants whose clients have disconnected may still be in a batch.
    await this.groupCommit.settled();
    await this.hook.settled();
    await this.repository.close();
  }
}
