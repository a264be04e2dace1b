import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { TokenVerifier } from '../auth/token-verifier.js';

/** What an embedding application decides. */
export interface PlantsModuleOptions {
  /** Where the plants are kept: a URL such as `sqlite:data/plants.db`, or a repository, which is closed at the end. */
  readonly repository: string | PlantRepository;
  /** Who may create plants. */
  readonly authentication: { readonly verifier: TokenVerifier };
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<PlantsModuleOptions>()
  .setClassMethodName('forRoot')
  .build();
