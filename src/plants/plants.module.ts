import {
  type DynamicModule,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
  RequestMethod,
  type Type,
} from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { BearerAuthOptions } from '../auth/bearer-auth-options.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { BearerStrategy } from '../auth/bearer.strategy.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { checkAsyncRegistration, checkRegistration } from './check-options.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  type OPTIONS_TYPE,
  PlantsInstance,
} from './plants.module-definition.js';
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
  #closing: Promise<void> | undefined;

  /** @throws {TypeError} at an option that is wrong or unknown; Nest checks the others when it starts the application */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    checkRegistration(options);
    return super.forRoot(options);
  }

  /** @throws {TypeError} at an option that is wrong, missing or unknown */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    checkAsyncRegistration(options);
    return super.forRootAsync(options);
  }

  constructor(
    private readonly instance: PlantsInstance,
    private readonly repository: PlantRepository,
    private readonly admission: Admission,
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
      httpAdapter?.use(unparsedBodyAt(() => this.#url, httpAdapter));
    });
  }

  onModuleInit(): void {
    this.#url = `${this.#globalPrefix()}/${this.instance.path}`;
  }

  get controller(): Type<PlantsController> {
    return this.instance.controller;
  }

  /** True if its route requires a token; otherwise a guard of the host decides. */
  get requiresToken(): boolean {
    return this.authOptions.verifier !== false;
  }

  /** Nest calls this after the server has sent its last answer, and again if the application is closed twice. */
  onApplicationShutdown(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    // Plants whose clients have disconnected may still be in a batch. A call of `onPlantCreated` may create plants in
    // other instances, so no store closes before all instances are idle.
    const admissions = this.moduleRef.get(Admission, { strict: false, each: true });
    while (!admissions.every(({ isIdle }) => isIdle)) await Promise.all(admissions.map((each) => each.settled()));
    this.admission.close();
    await this.repository.close();
  }

  /**
   * Nest passes the path of a route only to middleware of a MiddlewareConsumer, which comes too late. The exclusions are
   * documented for `setGlobalPrefix`; only their form here, which Nest exports with ApplicationConfig, is not:
   * https://docs.nestjs.com/faq/global-prefix. Nest tests the path with a slash at its end.
   */
  #globalPrefix(): string {
    const prefix = this.config.getGlobalPrefix().replace(/^\/|\/$/g, '');
    const { exclude = [] } = this.config.getGlobalPrefixOptions();
    const isExcluded = exclude.some(
      ({ pathRegex, requestMethod }) =>
        [RequestMethod.ALL, RequestMethod.POST].includes(requestMethod) && pathRegex.test(`/${this.instance.path}/`),
    );
    return prefix === '' || isExcluded ? '' : `/${prefix}`;
  }
}
