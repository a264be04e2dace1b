import type { FactoryProvider, Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Authentication, DEFAULT_SCOPE, isRealm, isScope } from '../auth/authentication.js';
import { isBearerToken } from '../auth/bearer-token.js';
import { RefusalDelay } from '../auth/refusals.js';
import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import { openRepository } from '../storage/open-repository.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { MODULE_OPTIONS_TOKEN, type PlantsModuleOptions } from './plants.module-definition.js';

/** The options as the rooms below want them; whoever writes JavaScript is told what is wrong with theirs. */
export const optionProviders: FactoryProvider[] = [
  {
    provide: PlantRepository,
    inject: [MODULE_OPTIONS_TOKEN, ModuleRef],
    useFactory: async ({ repository }: Partial<PlantsModuleOptions>, module: ModuleRef): Promise<PlantRepository> => {
      if (typeof repository === 'string') return openRepository(repository);
      if (typeof repository === 'function') return module.create(repository);
      return repository ?? missing('repository', 'a URL such as sqlite:data/plants.db, or a PlantRepository');
    },
  },
  {
    provide: Authentication,
    inject: [MODULE_OPTIONS_TOKEN, ModuleRef],
    useFactory: async (options: Partial<PlantsModuleOptions>, module: ModuleRef): Promise<Authentication> => ({
      verifier: await verifierOf(options, module),
      scope: checked('scope', options.scope ?? DEFAULT_SCOPE, isScope),
      realm: checked('realm', options.realm ?? 'plants', isRealm),
      delay: new RefusalDelay(options.refusedTokensPerMinute ?? Infinity),
    }),
  },
];

async function verifierOf(
  { authentication }: Partial<PlantsModuleOptions>,
  module: ModuleRef,
): Promise<TokenVerifier | false> {
  if (authentication === false) return false;
  const { verifier, tokens = [] }: { verifier?: TokenVerifier | Type<TokenVerifier>; tokens?: readonly string[] } =
    authentication ?? {};
  if (typeof verifier === 'function') return module.create(verifier);
  if (verifier) return verifier;
  if (tokens.length === 0) return missing('authentication', '{ tokens: [...] }, { verifier }, or false');
  if (!tokens.every(isBearerToken)) {
    throw new TypeError(
      'PlantsModule: each of authentication.tokens must be made of letters, digits and -._~+/; = may end it',
    );
  }
  return new StaticTokens(numberTokens(tokens));
}

function missing(option: string, remedy: string): never {
  throw new TypeError(`PlantsModule: the option ${option} is missing; it must be ${remedy}`);
}

function checked(option: string, text: string, isRight: (text: string) => boolean): string {
  if (isRight(text)) return text;
  throw new TypeError(`PlantsModule: the option ${option} is empty, or has characters that a challenge cannot carry`);
}
