import type { FactoryProvider, Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { BearerAuthOptions, DEFAULT_REALM, DEFAULT_SCOPE, isRealm, isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken } from '../auth/bearer-token.js';
import { RefusalDelay } from '../auth/refusals.js';
import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import { openRepository } from '../storage/open-repository.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { DEFAULT_BODY_LIMIT } from './body-limit.js';
import { PlantCreatedHook } from './plant-created.hook.js';
import { MODULE_OPTIONS_TOKEN, type PlantsModuleOptions } from './plants.module-definition.js';

/** The options as a JavaScript host may give them, without a compiler that checks them. */
type UncheckedOptions = Partial<PlantsModuleOptions>;

/** Provide what the module's options describe. An invalid option throws a TypeError that states its rule. */
export const optionProviders: FactoryProvider[] = [
  {
    provide: PlantRepository,
    inject: [MODULE_OPTIONS_TOKEN, ModuleRef],
    useFactory: async ({ repository }: UncheckedOptions, module: ModuleRef): Promise<PlantRepository> => {
      if (typeof repository === 'string') return openRepository(repository);
      if (typeof repository === 'function') return module.create(repository);
      return repository ?? missing('repository', 'a URL such as sqlite:data/plants.db, or a PlantRepository');
    },
  },
  {
    provide: BearerAuthOptions,
    inject: [MODULE_OPTIONS_TOKEN, ModuleRef],
    useFactory: async (options: UncheckedOptions, module: ModuleRef): Promise<BearerAuthOptions> => ({
      verifier: await createVerifier(options, module),
      scope: checked('scope', options.scope ?? DEFAULT_SCOPE, isScope),
      realm: checked('realm', options.realm ?? DEFAULT_REALM, isRealm),
      refusalDelay: new RefusalDelay(options.refusedTokensPerMinute ?? Infinity),
    }),
  },
  {
    provide: Admission,
    inject: [MODULE_OPTIONS_TOKEN],
    useFactory: ({ body: { limit = DEFAULT_BODY_LIMIT } = {} }: UncheckedOptions): Admission => {
      if (Number.isSafeInteger(limit) && limit > 0) return new Admission(limit);
      throw new TypeError('PlantsModule: the option body.limit must be a positive integer, in bytes');
    },
  },
  {
    provide: PlantCreatedHook,
    inject: [MODULE_OPTIONS_TOKEN],
    useFactory: ({ onPlantCreated }: UncheckedOptions): PlantCreatedHook => {
      if (onPlantCreated === undefined || typeof onPlantCreated === 'function')
        return new PlantCreatedHook(onPlantCreated);
      throw new TypeError('PlantsModule: the option onPlantCreated must be a function');
    },
  },
];

async function createVerifier({ authentication }: UncheckedOptions, module: ModuleRef): Promise<TokenVerifier | false> {
  if (authentication === false) return false;
  const { verifier, tokens = [] }: { verifier?: TokenVerifier | Type<TokenVerifier>; tokens?: readonly string[] } =
    authentication ?? {};
  if (typeof verifier === 'function') return module.create(verifier);
  if (verifier) return verifier;
  if (tokens.length === 0) return missing('authentication', '{ tokens: [...] }, { verifier }, or false');
  if (!tokens.every(isBearerToken)) {
    throw new TypeError(
      'PlantsModule: each of authentication.tokens must be letters, digits and -._~+/, optionally followed by =',
    );
  }
  return new StaticTokens(numberTokens(tokens));
}

function missing(option: string, remedy: string): never {
  throw new TypeError(`PlantsModule: the option ${option} is missing; it must be ${remedy}`);
}

function checked(option: string, text: string, isValid: (text: string) => boolean): string {
  if (isValid(text)) return text;
  throw new TypeError(
    `PlantsModule: the option ${option} is not valid: use printable ASCII without quotation marks and backslashes, and in a scope without spaces`,
  );
}
