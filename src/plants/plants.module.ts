import { Module, type OnApplicationShutdown, type OnModuleInit, RequestMethod, type Type } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { BearerAuthOptions } from '../auth/bearer-auth-options.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { BearerStrategy } from '../auth/bearer.strategy.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { optionsError } from './check-options.js';
import { PlantCreatedHook } from './plant-created.hook.js';
import { ConfigurableModuleClass, PlantsInstance } from './plants.module-definition.js';
import type { PlantsController } from './plants.controller.js';
import { optionProviders } from './plants.providers.js';
import { PlantsService } from './plants.service.js';
import { unparsedBodyAt } from './unparsed-body.js';

/** `POST /plants` for any Nest application. Nothing in this module acts on other routes. */
@Module({
  providers: [PlantsService, GroupCommit, BearerAuthGuard, BearerStrategy, ContractExceptionFilter, ...optionProviders],
})
export class PlantsModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  /** The path of the route as a client sends it; known when the application has set its prefix. */
  #url = '';

  constructor(
    private readonly instance: PlantsInstance,
    private readonly repository: PlantRepository,
    private readonly groupCommit: GroupCommit,
    private readonly hook: PlantCreatedHook,
    private readonly authOptions: BearerAuthOptions,
    private readonly config: ApplicationConfig,
    private readonly moduleRef: ModuleRef,
    adapterHost: HttpAdapterHost,
  ) {
    super();
    // Nest emits `init` when the application gets its adapter, before it registers its body parser in `app.init()`:
    // https://docs.nestjs.com/faq/http-adapter. It has emitted already, except in a test, which creates the application
    // from its module. Middleware of a MiddlewareConsumer would come after the parser:
    // https://github.com/nestjs/nest/blob/master/packages/core/nest-application.ts
    adapterHost.init$.subscribe(() => {
      // An application context without a server has none.
      const httpAdapter = adapterHost.httpAdapter as AbstractHttpAdapter | null;
      httpAdapter?.use(unparsedBodyAt(() => this.#url, httpAdapter.getType()));
    });
  }

  /** @throws {TypeError} if another instance has the same path or name */
  onModuleInit(): void {
    this.#assertDistinct();
    this.#url = `${this.#globalPrefix()}/${this.instance.path}`;
  }

  get controller(): Type<PlantsController> {
    return this.instance.controller;
  }

  /** True if its route requires a token; otherwise a guard of the host decides. */
  get requiresToken(): boolean {
    return this.authOptions.verifier !== false;
  }

  /** Nest calls this after the server has sent its last answer. */
  async onApplicationShutdown(): Promise<void> {
    // Plants whose clients have disconnected may still be in a batch.
    await this.groupCommit.settled();
    await this.hook.settled();
    await this.repository.close();
  }

  #assertDistinct(): void {
    const { path, name } = this.instance;
    for (const other of this.moduleRef.get(PlantsModule, { strict: false, each: true })) {
      if (other === this) continue;
      const advice = 'give each a path and a name of its own';
      if (other.instance.path === path) throw optionsError(`two instances have the path ${path}: ${advice}`);
      if (other.instance.name === name) {
        throw optionsError(`two instances have ${name === undefined ? 'no name' : `the name ${name}`}: ${advice}`);
      }
    }
  }

  /**
   * Nest passes the path of a route only to middleware of a MiddlewareConsumer, which comes too late. The exclusions are
   * documented for `setGlobalPrefix`; only their form here, which Nest exports with ApplicationConfig, is not:
   * https://docs.nestjs.com/faq/global-prefix
   */
  #globalPrefix(): string {
    const prefix = this.config.getGlobalPrefix().replace(/^\/|\/$/g, '');
    const { exclude = [] } = this.config.getGlobalPrefixOptions();
    const isExcluded = exclude.some(
      ({ pathRegex, requestMethod }) =>
        [RequestMethod.ALL, RequestMethod.POST].includes(requestMethod) && pathRegex.test(`/${this.instance.path}`),
    );
    return prefix === '' || isExcluded ? '' : `/${prefix}`;
  }
}
