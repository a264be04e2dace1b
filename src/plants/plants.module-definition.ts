import { ConfigurableModuleBuilder, type Type } from '@nestjs/common';
import type { TokenVerifier } from '../auth/token-verifier.js';
import type { PlantRepository } from '../storage/plant-repository.js';

/** What an embedding application decides. Nest makes what is given as a class, of what the module can see. */
export interface PlantsModuleOptions {
  /**
   * Where the plants are kept: a URL such as `sqlite:data/plants.db`, relative to the working directory, or a
   * repository of your own. The module closes it with the application. Required.
   */
  readonly repository: string | PlantRepository | Type<PlantRepository>;
  /**
   * Who may create plants: those who send one of these tokens, in clear text here; those whose token the verifier
   * takes; or, with false, everybody whom your own guard lets pass. Required.
   */
  readonly authentication:
    { readonly tokens: readonly string[] } | { readonly verifier: TokenVerifier | Type<TokenVerifier> } | false;
  /** What a token that has scopes must have among them (RFC 6749 §3.3): `plants:write` by default. */
  readonly scope?: string;
  /** Names the protected space in the challenge to those without a valid token (RFC 9110 §11.5): `plants` by default. */
  readonly realm?: string;
  /**
   * As many refused tokens of one address are answered at once, further ones a second late; valid ones never wait.
   * Without a limit by default.
   */
  readonly refusedTokensPerMinute?: number;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<PlantsModuleOptions>()
  .setClassMethodName('forRoot')
  .build();
