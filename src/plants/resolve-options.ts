import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { BearerAuthOptions, DEFAULT_SCOPE, isBearerToken, type TokenVerifier } from '../auth/token-verifier.js';
import { DATABASE_DEFAULTS } from '../storage/engine.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { PlantCreatedListener, PlantsModuleOptions } from './plants.module-definition.js';

/** Maximum bytes of a request body, unless the option `body.limit` or the variable BODY_LIMIT sets another limit. */
export const DEFAULT_BODY_LIMIT = 1_048_576;

/** The greatest limit of a body, 255 MiB: SQL doubles each quotation mark, and V8 has no string of 512 MiB. */
export const MAX_BODY_LIMIT = 267_386_880;

/** The checked options, with the defaults; the class is also their injection token. */
export abstract class ResolvedOptions extends BearerAuthOptions {
  abstract readonly repository: string | PlantRepository;
  abstract readonly verifier: TokenVerifier;
  /** Maximum bytes of a body. */
  abstract readonly bodyLimit: number;
  abstract readonly database: { readonly timeout: number; readonly startTimeout: number };
  abstract readonly onPlantCreated: PlantCreatedListener | undefined;
}

/**
 * Fills in the defaults, and refuses what would open the route or let it fail later: values that are undefined because
 * an environment variable is missing, and unknown names. If a host wrote `scopes` instead of `scope`, the module would
 * accept tokens with the default scope.
 *
 * @throws {TypeError} at an option that is unknown or wrong; its message is one line
 */
export function resolveOptions(options: PlantsModuleOptions): ResolvedOptions {
  const { repository, authentication, scope, realm, body, database, onPlantCreated, ...unknown } = options;
  const bodyLimit = body?.limit ?? DEFAULT_BODY_LIMIT;
  for (const name of Object.keys(unknown)) throw new TypeError(`PlantsModule: there is no option ${name}`);
  if (!isRepository(repository)) throw wrong('repository', 'a URL such as sqlite:data/plants.db, or a PlantRepository');
  if (!isBodyLimit(bodyLimit)) throw wrong('body.limit', `a number of bytes from 1 to ${MAX_BODY_LIMIT}`);
  return {
    repository,
    verifier: verifierOf(authentication),
    hostDecides: authentication === false,
    scope: scope ?? DEFAULT_SCOPE,
    realm: realm ?? 'plants',
    bodyLimit,
    database: {
      timeout: database?.timeout ?? DATABASE_DEFAULTS.timeout,
      startTimeout: database?.startTimeout ?? DATABASE_DEFAULTS.startTimeout,
    },
    onPlantCreated,
  };
}

function wrong(option: string, rule: string): TypeError {
  return new TypeError(`PlantsModule: the option ${option} must be ${rule}`);
}

// The options of a host in JavaScript, or of its factory, may have any values.

function isRepository(value: unknown): boolean {
  return typeof value === 'string' || typeof (value as PlantRepository | undefined)?.add === 'function';
}

function isBodyLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MAX_BODY_LIMIT;
}

/** Returns the verifier that the option describes. */
function verifierOf(authentication: PlantsModuleOptions['authentication'] | undefined): TokenVerifier {
  // Only `false` itself opens the route: a missing environment variable must not. The guard does not ask this verifier,
  // which refuses every token.
  if (authentication === false) return new StaticTokens([]);
  const { tokens, verifier, ...unknown }: { tokens?: unknown; verifier?: unknown } = { ...authentication };
  const isKnown = Object.keys(unknown).length === 0;
  if (isKnown && verifier === undefined && areTokens(tokens)) return new StaticTokens(numberTokens(tokens));
  if (isKnown && tokens === undefined && isVerifier(verifier)) return verifier;
  throw wrong(
    'authentication',
    "{ tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier }, or false",
  );
}

function areTokens(value: unknown): value is readonly string[] {
  const isToken = (token: unknown): boolean => typeof token === 'string' && isBearerToken(token);
  return Array.isArray(value) && value.length > 0 && value.every(isToken);
}

function isVerifier(value: unknown): value is TokenVerifier {
  return typeof (value as TokenVerifier | null | undefined)?.verify === 'function';
}
