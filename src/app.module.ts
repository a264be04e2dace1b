import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, RouterModule } from '@nestjs/core';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import { RefusalDelay, RefusalLog } from './auth/refusals.js';
import type { TokenVerifier } from './auth/token-verifier.js';
import { ContractExceptionFilter } from './errors/contract-exception.filter.js';
import { UnroutedController } from './http/unrouted.controller.js';
import { PlantsModule } from './plants/plants.module.js';
import type { PlantRepository } from './storage/plant-repository.js';

/** The standalone service: PlantsModule, with its guard and its filter in front of everything. */
@Module({})
export class AppModule {
  static forRoot(options: {
    readonly basePath: string;
    readonly repository: string | PlantRepository;
    readonly verifier: TokenVerifier;
    /** See `RefusalDelay`; without a limit by default. */
    readonly refusedTokensPerMinute?: number;
  }): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlantsModule.forRoot({
          repository: options.repository,
          authentication: { verifier: options.verifier },
        }),
        RouterModule.register([{ path: options.basePath, module: PlantsModule }]),
      ],
      controllers: [UnroutedController],
      providers: [
        RefusalLog,
        {
          provide: APP_GUARD,
          inject: [BearerAuthGuard],
          useFactory: (guard: BearerAuthGuard) => new RefusalDelay(guard, options.refusedTokensPerMinute ?? Infinity),
        },
        { provide: APP_FILTER, useExisting: ContractExceptionFilter },
      ],
    };
  }
}
