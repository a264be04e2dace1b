import { type DynamicModule, type INestApplication, type LoggerService, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, NestFactory, RouterModule } from '@nestjs/core';
import { RefusalLog } from './auth/refusals.js';
import { createFastifyAdapter } from './http/fastify-adapter.js';
import { UnroutedController } from './http/unrouted.controller.js';
import { BearerAuthGuard, ContractExceptionFilter, PlantsModule, type PlantsModuleOptions } from './index.js';

/** The options of the standalone application. */
export interface ApplicationOptions {
  /** The path part of {base_url}. */
  readonly basePath: string;
  readonly plants: PlantsModuleOptions;
  readonly http: Parameters<typeof createFastifyAdapter>[0];
  readonly logger: LoggerService;
}

/** The standalone service: PlantsModule, whose guard and filter act on every path. */
@Module({})
export class AppModule {
  static forRoot({ basePath, plants }: Pick<ApplicationOptions, 'basePath' | 'plants'>): DynamicModule {
    return {
      module: AppModule,
      imports: [PlantsModule.forRoot(plants), RouterModule.register([{ path: basePath, module: PlantsModule }])],
      controllers: [UnroutedController],
      providers: [
        RefusalLog,
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useExisting: ContractExceptionFilter },
      ],
    };
  }
}

/** Creates the standalone application, which then listens on the public port. */
export function createApplication(options: ApplicationOptions): Promise<INestApplication> {
  const { certificate } = options.http;
  return NestFactory.create(AppModule.forRoot(options), createFastifyAdapter(options.http), {
    logger: options.logger,
    abortOnError: false,
    bodyParser: false,
    // Nest only looks at it for the scheme of `getUrl`.
    ...(certificate && { httpsOptions: certificate }),
  });
}
