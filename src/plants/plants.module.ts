import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { BearerStrategy } from '../auth/bearer.strategy.js';
import { TokenVerifier } from '../auth/token-verifier.js';
import { ContractExceptionFilter } from '../errors/contract-exception.filter.js';
import { GroupCommit } from '../storage/group-commit.js';
import { openRepository } from '../storage/open-repository.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { PlantsController } from './plants.controller.js';
import { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, type PlantsModuleOptions } from './plants.module-definition.js';
import { PlantsService } from './plants.service.js';

/** `POST /plants` and all that it takes, for any Nest application; nothing of it acts on other routes. */
@Module({
  controllers: [PlantsController],
  providers: [
    PlantsService,
    GroupCommit,
    BearerAuthGuard,
    BearerStrategy,
    ContractExceptionFilter,
    {
      provide: PlantRepository,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: ({ repository }: PlantsModuleOptions) =>
        typeof repository === 'string' ? openRepository(repository) : repository,
    },
    {
      provide: TokenVerifier,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: ({ authentication }: PlantsModuleOptions) => authentication.verifier,
    },
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
