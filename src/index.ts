export { BearerAuthGuard } from './auth/bearer-auth.guard.js';
export { type Principal, principalOf } from './auth/principal.js';
export { TokenVerifier } from './auth/token-verifier.js';
export { ContractExceptionFilter } from './errors/contract-exception.filter.js';
export { describePlants } from './plants/describe-plants.js';
export { unparsedBody } from './plants/plant-request.js';
export { PlantsController } from './plants/plants.controller.js';
export { PlantsModule } from './plants/plants.module.js';
export { type PlantsModuleOptions } from './plants/plants.module-definition.js';
export {
  type Outcome,
  PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from './storage/plant-repository.js';
