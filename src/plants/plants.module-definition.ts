import { ConfigurableModuleBuilder, type Type } from '@nestjs/common';
import type { TokenVerifier } from '../auth/token-verifier.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { PlantCreatedListener } from './plant-created.hook.js';

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
  readonly scope?: string;
  /** The name of the protected space in `WWW-Authenticate` (RFC 9110 §11.5). Defaults to `plants`. */
  readonly realm?: string;
  /**
   * Refused tokens per client address and minute that are answered immediately. Further refusals are delayed by one
   * second; valid tokens never are. Defaults to no limit.
   */
  readonly refusedTokensPerMinute?: number;
  /** Applies to bodies that the module reads itself, see `unparsedBody`. */
  readonly body?: {
    /** The greatest length in bytes. Defaults to 1 MiB. */
    readonly limit?: number;
  };
  /**
   * Called once for each plant that was really created, when it is durable and answered; not for one that was there
   * already. An error is logged and changes no answer. It is not a queue: a crash after the commit loses the call.
   */
  readonly onPlantCreated?: PlantCreatedListener | undefined;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<PlantsModuleOptions>()
  .setClassMethodName('forRoot')
  .build();
