export { type Principal } from './auth/principal.js';
export { TokenVerifier } from './auth/token-verifier.js';
export { PlantsModule } from './plants/plants.module.js';
export { type PlantsModuleOptions } from './plants/plants.module-definition.js';
