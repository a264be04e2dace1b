import { ConfigurableModuleBuilder, type InjectionToken, type Type } from '@nestjs/common';
import { BearerAuthOptions } from '../auth/bearer-auth-options.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import { PlantRepository } from '../storage/plant-repository.js';
import type { PlantCreatedListener } from './plant-created.hook.js';
import { type PlantsController, plantsControllerAt } from './plants.controller.js';
import { PlantsService } from './plants.service.js';

/** The options of PlantsModule. Nest instantiates classes given here, with the providers that the module can see. */
export interface PlantsModuleOptions {
  /**
   * The store: a URL such as `sqlite:data/plants.db`, relative to the working directory, or a repository of your own.
   * The module closes it with the application. Required.
   */
  readonly repository: string | PlantRepository | Type<PlantRepository>;
  /**
   * The tokens that may create plants, in clear text; or a verifier of tokens; or false if a guard of yours decides.
   * Required.
   */
  readonly authentication:
    { readonly tokens: readonly string[] } | { readonly verifier: TokenVerifier | Type<TokenVerifier> } | false;
  /** The scope that a token with scopes must have (RFC 6749 §3.3). Defaults to `plants:write`. */
  readonly scope?: string | undefined;
  /** The name of the protected space in `WWW-Authenticate` (RFC 9110 §11.5). Defaults to `plants`. */
  readonly realm?: string | undefined;
  readonly body?:
    | {
        /** The greatest length: bytes, or a text such as `512kb` or `2mb`. Defaults to 1 MiB. */
        readonly limit?: number | string | undefined;
      }
    | undefined;
  /** Settings of a store that `repository` names with a URL. */
  readonly database?:
    | {
        /** Milliseconds that a batch may wait for a lock or for a server to answer. Defaults to 5,000. */
        readonly timeout?: number | undefined;
        /** Milliseconds that the start waits for a server that cannot be reached yet. Defaults to 30,000. */
        readonly startTimeout?: number | undefined;
      }
    | undefined;
  /**
   * Called once for each plant that was created, when it is durable; not for one that was there already. An error is
   * logged and changes no answer. The plant counts towards the bytes of the requests in flight until the call ends. It is not a
   * queue: a crash after the commit loses the call.
   */
  readonly onPlantCreated?: PlantCreatedListener | undefined;
}

/** Options that Nest needs before the others; `forRootAsync` takes these beside `useFactory`. */
export interface PlantsRegistration {
  /** The path of the route, below the global prefix. Defaults to `plants`. */
  readonly path?: string | undefined;
  /** The name of this instance of the module; all instances but one need one. */
  readonly name?: string | undefined;
  /** If true, all modules can inject what this one exports. Defaults to false. */
  readonly isGlobal?: boolean | undefined;
}

/** The path, the name and the controller of an instance of the module; the class is also the injection token. */
export abstract class PlantsInstance {
  abstract readonly path: string;
  abstract readonly name: string | undefined;
  abstract readonly controller: Type<PlantsController>;
}

/** The injection token of the options. */
export const PLANTS_OPTIONS = Symbol('PLANTS_OPTIONS');

/** Returns the injection token of the PlantsService of the instance with this name. */
export function getPlantsServiceToken(name?: string): InjectionToken<PlantsService> {
  return name === undefined ? PlantsService : `PlantsService:${name}`;
}

const REGISTRATION: PlantsRegistration = { path: 'plants', name: undefined, isGlobal: false };

export const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<PlantsModuleOptions>({ optionsInjectionToken: PLANTS_OPTIONS })
    .setClassMethodName('forRoot')
    .setExtras<PlantsRegistration>(REGISTRATION, (definition, { path = 'plants', name, isGlobal = false }) => {
      const trimmed = path.replace(/^\/|\/$/g, '');
      const controller = plantsControllerAt(trimmed, name);
      const instance: PlantsInstance = { path: trimmed, name, controller };
      const token = getPlantsServiceToken(name);
      return {
        ...definition,
        global: isGlobal,
        controllers: [controller],
        providers: [
          ...(definition.providers ?? []),
          { provide: PlantsInstance, useValue: instance },
          ...(name === undefined ? [] : [{ provide: token, useExisting: PlantsService }]),
        ],
        // The classes are those of the instance without a name: a module that imports several could not tell them apart.
        exports:
          name === undefined
            ? [BearerAuthGuard, BearerAuthOptions, ContractExceptionFilter, PlantRepository, PlantsService]
            : [token],
      };
    })
    .build();
