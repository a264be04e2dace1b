export { BearerAuthGuard, RequiresScope } from './auth/bearer-auth.guard.js';
export { type Principal, principalOf } from './auth/principal.js';
export { type RefusalReason, TokenVerifier, type VerificationResult } from './auth/token-verifier.js';
export { ContractExceptionFilter } from './contract/contract-exception.filter.js';
export { describePlants } from './plants/describe-plants.js';
export { type PlantCreatedListener } from './plants/plant-created.hook.js';
export { PlantsController } from './plants/plants.controller.js';
export { PlantsModule } from './plants/plants.module.js';
export { type PlantsModuleOptions } from './plants/plants.module-definition.js';
export { unparsedBody } from './plants/unparsed-body.js';
export {
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  RepositoryStartError,
  RepositoryUnavailableError,
  type StoredPlant,
} from './storage/plant-repository.js';
