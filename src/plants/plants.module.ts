import { Logger, Module, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { BearerStrategy } from '../auth/bearer.strategy.js';
import { BearerAuthOptions, TokenVerifier } from '../auth/token-verifier.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import { GroupCommit } from '../storage/group-commit.js';
import { openRepository } from '../storage/engines.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { PlantsController } from './plants.controller.js';
import { ConfigurableModuleClass, PLANTS_OPTIONS, type PlantsModuleOptions } from './plants.module-definition.js';
import { PlantsService } from './plants.service.js';
import { ResolvedOptions, resolveOptions } from './resolve-options.js';
import { UnparsedBodyRegistration } from './unparsed-body.js';

/** The providers of what the module's options describe. */
const optionProviders: Provider[] = [
  {
    provide: ResolvedOptions,
    inject: [PLANTS_OPTIONS, ModuleRef],
    useFactory: (options: PlantsModuleOptions, module: ModuleRef): ResolvedOptions => {
      const registrations = module.get<unknown>(PLANTS_OPTIONS, { strict: false, each: true });
      // Express would ignore the second route without a warning.
      if (registrations.length > 1) {
        throw new TypeError('PlantsModule: it is registered twice: import the result of one forRoot');
      }
      return resolveOptions(options);
    },
  },
  {
    provide: PlantRepository,
    inject: [ResolvedOptions],
    useFactory: async ({ repository, database }: ResolvedOptions): Promise<PlantRepository> => {
      if (typeof repository !== 'string') return repository;
      const onWait = (reason: string): void =>
        new Logger('PlantStore').warn(`The start waits for the database: ${reason}`);
      return openRepository(repository, { ...database, onWait });
    },
  },
  {
    // The verifier is a provider so that Nest calls its lifecycle hooks, and a test of the host can override it.
    provide: TokenVerifier,
    inject: [ResolvedOptions],
    useFactory: ({ verifier }: ResolvedOptions): TokenVerifier => verifier,
  },
  { provide: BearerAuthOptions, useExisting: ResolvedOptions },
];

/** `POST /plants` for any Nest application. Nothing in this module changes other routes. */
@Module({
  controllers: [PlantsController],
  providers: [
    PlantsService,
    GroupCommit,
    BearerAuthGuard,
    BearerStrategy,
    ContractExceptionFilter,
    UnparsedBodyRegistration,
    ...optionProviders,
  ],
  exports: [BearerAuthGuard, BearerAuthOptions, ContractExceptionFilter, PlantRepository, PlantsService, TokenVerifier],
})
export class PlantsModule extends ConfigurableModuleClass implements OnApplicationShutdown {
  #closing: Promise<void> | undefined;

  constructor(private readonly repository: PlantRepository) {
    super();
  }

  /** Closes the store once, after the hook of PlantsService: a host may close its application twice. */
  onApplicationShutdown(): Promise<void> {
    return (this.#closing ??= this.repository.close());
  }
}
