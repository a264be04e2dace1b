import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, RouterModule } from '@nestjs/core';
import { RefusalLog } from './auth/refusals.js';
import { NotFoundController } from './http/not-found.controller.js';
import { BearerAuthGuard, ContractExceptionFilter, PlantsModule, type PlantsModuleOptions } from './index.js';

/** The standalone service: PlantsModule, whose guard and filter act on every path. */
@Module({})
export class AppModule {
  /** @param options.basePath the path part of {base_url} */
  static forRoot({ basePath, ...options }: PlantsModuleOptions & { readonly basePath: string }): DynamicModule {
    return {
      module: AppModule,
      imports: [PlantsModule.forRoot(options), RouterModule.register([{ path: basePath, module: PlantsModule }])],
      controllers: [NotFoundController],
      providers: [
        RefusalLog,
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useExisting: ContractExceptionFilter },
      ],
    };
  }
}
