import { Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { BearerAuthOptions } from '../auth/bearer-auth-options.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { BearerStrategy } from '../auth/bearer.strategy.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { PLANTS_PATH, PlantsController } from './plants.controller.js';
import { ConfigurableModuleClass } from './plants.module-definition.js';
import { optionProviders } from './plants.providers.js';
import { PlantsService } from './plants.service.js';
import { unparsedBodyWhere } from './unparsed-body.js';

/** `POST /plants` for any Nest application. Nothing in this module acts on other routes. */
@Module({
  controllers: [PlantsController],
  providers: [PlantsService, GroupCommit, BearerAuthGuard, BearerStrategy, ContractExceptionFilter, ...optionProviders],
  exports: [BearerAuthGuard, BearerAuthOptions, ContractExceptionFilter, PlantRepository, PlantsService],
})
export class PlantsModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  /** The path of the route as a client sends it. */
  #path: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly repository: PlantRepository,
    private readonly admission: Admission,
    private readonly config: ApplicationConfig,
    adapterHost: HttpAdapterHost,
  ) {
    super();
    // Nest emits `init` when the application gets its adapter, before it registers its body parser in `app.init()`:
    // https://docs.nestjs.com/faq/http-adapter. It has emitted already, except in a test, which creates the application
    // from its module. Middleware of a MiddlewareConsumer would come after the parser of Express:
    // https://github.com/nestjs/nest/blob/master/packages/core/nest-application.ts
    adapterHost.init$.subscribe(() => {
      // An application context without a server has none.
      const httpAdapter = adapterHost.httpAdapter as AbstractHttpAdapter | null;
      httpAdapter?.use(unparsedBodyWhere((path) => path === this.#path));
    });
  }

  /** The application has set its prefix. Nest tells no module of exclusions from it, nor what RouterModule adds. */
  onModuleInit(): void {
    const prefix = this.config.getGlobalPrefix().split('/').filter(Boolean);
    this.#path = ['', ...prefix, PLANTS_PATH].join('/');
  }

  /** Nest calls this after the server has sent its last answer, and again if the application is closed twice. */
  onApplicationShutdown(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    // Plants whose clients have disconnected may still be in a batch, and calls of `onPlantCreated` may create others.
    await this.admission.close();
    await this.repository.close();
  }
}
