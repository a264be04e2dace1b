import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, RouterModule } from '@nestjs/core';
import { RefusalLog } from './auth/refusals.js';
import { UnroutedController } from './http/unrouted.controller.js';
import {
  BearerAuthGuard,
  ContractExceptionFilter,
  type PlantRepository,
  PlantsModule,
  type TokenVerifier,
} from './index.js';

/** The standalone service: PlantsModule, with its guard and its filter in front of everything. */
@Module({})
export class AppModule {
  static forRoot(options: {
    readonly basePath: string;
    readonly repository: string | PlantRepository;
    readonly verifier: TokenVerifier;
    readonly refusedTokensPerMinute?: number;
  }): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlantsModule.forRoot({
          repository: options.repository,
          authentication: { verifier: options.verifier },
          ...(options.refusedTokensPerMinute !== undefined && {
            refusedTokensPerMinute: options.refusedTokensPerMinute,
          }),
        }),
        RouterModule.register([{ path: options.basePath, module: PlantsModule }]),
      ],
      controllers: [UnroutedController],
      providers: [
        RefusalLog,
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useExisting: ContractExceptionFilter },
      ],
    };
  }
}
