import { type DynamicModule, type LoggerService, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, NestFactory, RouterModule } from '@nestjs/core';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import { ContractExceptionFilter } from './contract/contract-exception.filter.js';
import { createFastifyAdapter, type PublicApplication } from './http/fastify-adapter.js';
import { NotFoundController, OperationPath } from './http/not-found.controller.js';
import { PlantsModule } from './plants/plants.module.js';
import { PLANTS_PATH, type PlantsModuleOptions } from './plants/plants.module-definition.js';

/** The options of the standalone application. */
interface ApplicationOptions {
  /** The path part of {base_url}. */
  readonly basePath: string;
  readonly plants: PlantsModuleOptions;
  readonly http: Parameters<typeof createFastifyAdapter>[0];
  readonly logger: LoggerService;
}

/** The standalone service: PlantsModule, whose guard and filter act on every path. */
@Module({})
export class AppModule {
  static forRoot(basePath: string, plants: PlantsModuleOptions): DynamicModule {
    return {
      module: AppModule,
      imports: [PlantsModule.forRoot(plants), RouterModule.register([{ path: basePath, module: PlantsModule }])],
      controllers: [NotFoundController],
      providers: [
        { provide: OperationPath, useValue: { path: `${basePath}/${PLANTS_PATH}` } satisfies OperationPath },
        // Both are global, so that no path of the service is open. PlantsController binds them for hosts.
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useExisting: ContractExceptionFilter },
      ],
    };
  }
}

/** Creates the standalone application, which then listens on the public port. */
export function createApplication({ basePath, plants, http, logger }: ApplicationOptions): Promise<PublicApplication> {
  return NestFactory.create<PublicApplication>(AppModule.forRoot(basePath, plants), createFastifyAdapter(http), {
    logger,
    abortOnError: false,
    bodyParser: false,
  });
}

/**
 * Closes the application: it answers the requests in flight, and closes the store.
 *
 * @throws the error of a store that cannot close: Nest logs the error of a hook, and does not throw it
 */
export async function closeApplication(application: PublicApplication): Promise<void> {
  await application.close();
  // This repeats Nest's call, and returns its result: the module closes its store only once.
  await application.get(PlantsModule).onApplicationShutdown();
}
