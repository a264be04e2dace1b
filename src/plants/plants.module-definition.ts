import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { Principal, TokenVerifier } from '../auth/token-verifier.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { NewPlantDto } from './dto/plant.dto.js';

/** The path of the operation, below {base_url} or the prefix of the application. */
export const PLANTS_PATH = 'plants';

/** A function of the host; `principal` is undefined if the host authenticates. */
export type PlantCreatedListener = (plant: Readonly<NewPlantDto>, principal: Principal | undefined) => unknown;

/** The options of PlantsModule. */
export interface PlantsModuleOptions {
  /**
   * The store: a URL such as `sqlite:data/plants.db`, relative to the working directory, or a repository of your own.
   * The module closes it with the application. Required.
   */
  readonly repository: string | PlantRepository;
  /**
   * The tokens that may create plants, in clear text; or a verifier of tokens; or false if a guard of yours decides.
   * Required.
   */
  readonly authentication: { readonly tokens: readonly string[] } | { readonly verifier: TokenVerifier } | false;
  /** The scope that a token with scopes must have: one word (RFC 6749 §3.3). Defaults to `plants:write`. */
  readonly scope?: string | undefined;
  /**
   * The name of the protected space in `WWW-Authenticate`, without quotation marks (RFC 9110 §11.5). Defaults to
   * `plants`.
   */
  readonly realm?: string | undefined;
  readonly body?:
    | {
        /** Maximum bytes of a body. Defaults to 1 MiB. */
        readonly limit?: number | undefined;
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
   * Called at most once for each plant that was created, when the plant is durable; not for a plant that existed
   * already. An error is logged and changes no answer.
   *
   * This is not a queue: a crash after the commit, or a lost answer of the database, loses the call. Give each call a
   * timeout: the application closes when all calls have ended.
   */
  readonly onPlantCreated?: PlantCreatedListener | undefined;
}

/** The injection token of the options. */
export const PLANTS_OPTIONS = Symbol('PLANTS_OPTIONS');

/** A class for `useClass` or `useExisting` of `PlantsModule.forRootAsync`. */
export interface PlantsOptionsFactory {
  create(): PlantsModuleOptions | Promise<PlantsModuleOptions>;
}

export const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<PlantsModuleOptions>({
  optionsInjectionToken: PLANTS_OPTIONS,
})
  .setClassMethodName('forRoot')
  .build();
