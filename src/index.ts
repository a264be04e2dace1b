export type { JwtSettings, JwtType } from './auth/access-token.js';
export { CurrentPrincipal, principalOf } from './auth/authenticated-request.js';
export { BearerAuthGuard, RequiresScope } from './auth/bearer-auth.guard.js';
export { TokenFileVerifier } from './auth/token-file-verifier.js';
export { JwtVerifier } from './auth/jwt-verifier.js';
export {
  type Principal,
  type Refusal,
  type RefusalReason,
  TokenVerifier,
  type VerificationResult,
} from './auth/token-verifier.js';
export { ContractException } from './contract/contract.exception.js';
export { ContractExceptionFilter } from './contract/contract-exception.filter.js';
export { type ErrorNumber } from './contract/error-table.js';
export { OperatorError } from './operator-error.js';
export { NewPlantDto, PlantDto } from './plants/dto/plant.dto.js';
export { PlantsController } from './plants/plants.controller.js';
export { PlantsModule } from './plants/plants.module.js';
export {
  type PlantCreatedListener,
  PLANTS_OPTIONS,
  type PlantsModuleOptions,
  type PlantsOptionsFactory,
} from './plants/plants.module-definition.js';
export { PlantsService } from './plants/plants.service.js';
export { unparsedBody } from './plants/unparsed-body.js';
export {
  type Outcome,
  PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from './storage/plant-repository.js';
