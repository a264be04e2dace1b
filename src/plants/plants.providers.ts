import { type FactoryProvider, Logger } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { BearerAuthOptions, DEFAULT_REALM, DEFAULT_SCOPE } from '../auth/bearer-auth-options.js';
import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { TokenVerifier } from '../auth/token-verifier.js';
import { DATABASE_DEFAULTS, openRepository } from '../storage/open-repository.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { DEFAULT_BODY_LIMIT, parseBodyLimit } from './body-limit.js';
import { checkOptions } from './check-options.js';
import { CHECKED_OPTIONS, PLANTS_OPTIONS, type PlantsModuleOptions } from './plants.module-definition.js';

const logger = new Logger('PlantStore');

/** Provide what the module's options describe. */
export const optionProviders: FactoryProvider[] = [
  {
    provide: CHECKED_OPTIONS,
    inject: [PLANTS_OPTIONS, ModuleRef],
    useFactory: (options: PlantsModuleOptions, module: ModuleRef): PlantsModuleOptions => {
      // Express would serve the plants of the first registration alone, without a word.
      if (module.get<unknown[]>(PLANTS_OPTIONS, { strict: false, each: true }).length > 1) {
        throw new TypeError('PlantsModule: it is registered twice: import the result of one forRoot, or set isGlobal');
      }
      return checkOptions(options);
    },
  },
  {
    provide: PlantRepository,
    inject: [CHECKED_OPTIONS, ModuleRef],
    useFactory: async (
      { repository, database = {} }: PlantsModuleOptions,
      module: ModuleRef,
    ): Promise<PlantRepository> => {
      if (typeof repository === 'function') return module.create(repository);
      if (typeof repository !== 'string') return repository;
      const { timeout = DATABASE_DEFAULTS.timeout, startTimeout = DATABASE_DEFAULTS.startTimeout } = database;
      const onWait = (reason: string): void => logger.warn(`The start waits for the database: ${reason}`);
      return openRepository(repository, { timeout, startTimeout, onWait });
    },
  },
  {
    // A provider of its own, so that Nest calls its lifecycle hooks.
    provide: TokenVerifier,
    inject: [CHECKED_OPTIONS, ModuleRef],
    useFactory: async ({ authentication }: PlantsModuleOptions, module: ModuleRef): Promise<TokenVerifier | false> => {
      if (authentication === false) return false;
      if ('verifier' in authentication) {
        const { verifier } = authentication;
        return typeof verifier === 'function' ? module.create(verifier) : verifier;
      }
      return new StaticTokens(numberTokens(authentication.tokens));
    },
  },
  {
    provide: BearerAuthOptions,
    inject: [CHECKED_OPTIONS, TokenVerifier],
    useFactory: (options: PlantsModuleOptions, verifier: TokenVerifier | false): BearerAuthOptions => ({
      verifier,
      scope: options.scope ?? DEFAULT_SCOPE,
      realm: options.realm ?? DEFAULT_REALM,
    }),
  },
  {
    provide: Admission,
    inject: [CHECKED_OPTIONS],
    useFactory: ({ body }: PlantsModuleOptions): Admission =>
      new Admission(parseBodyLimit(`${body?.limit ?? DEFAULT_BODY_LIMIT}`) ?? DEFAULT_BODY_LIMIT),
  },
];
