import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import {
  BearerAuthOptions,
  DEFAULT_SCOPE,
  isBearerToken,
  isScope,
  type TokenVerifier,
} from '../auth/token-verifier.js';
import { DATABASE_DEFAULTS } from '../storage/engines.js';
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
 * Fills in the defaults, and checks what would otherwise fail later or open the route: values that are undefined because an
 * environment variable is missing, and unknown names in the result of a factory. If a host wrote `scopes` instead of `scope`,
 * the module would accept tokens with the default scope.
 *
 * @throws {TypeError} at an option that is unknown or wrong; its message is one line
 */
export function resolveOptions(options: PlantsModuleOptions): ResolvedOptions {
  const { repository, authentication, scope, realm, body, database, onPlantCreated, ...unknown } = options;
  for (const name of Object.keys(unknown)) throw new TypeError(`PlantsModule: there is no option ${name}`);
  const resolved = {
    repository,
    verifier: verifierOf(authentication),
    hostDecides: authentication === false,
    scope: scope ?? DEFAULT_SCOPE,
    realm: realm ?? 'plants',
    bodyLimit: body?.limit ?? DEFAULT_BODY_LIMIT,
    database: {
      timeout: database?.timeout ?? DATABASE_DEFAULTS.timeout,
      startTimeout: database?.startTimeout ?? DATABASE_DEFAULTS.startTimeout,
    },
    onPlantCreated,
  };
  check(isRepository(repository), 'repository must be a URL such as sqlite:data/plants.db, or a PlantRepository');
  check(
    isScope(resolved.scope),
    'scope must be one word such as plants:write, without quotation marks and backslashes',
  );
  check(isRealm(resolved.realm), 'realm must be printable ASCII characters, without quotation marks and backslashes');
  check(isBodyLimit(resolved.bodyLimit), `body.limit must be a number of bytes from 1 to ${MAX_BODY_LIMIT}`);
  return resolved;
}

function check(isValid: boolean, rule: string): asserts isValid {
  if (!isValid) throw new TypeError(`PlantsModule: the option ${rule}`);
}

/** Returns the verifier that the option describes. */
function verifierOf(authentication: PlantsModuleOptions['authentication'] | undefined): TokenVerifier {
  // Only `false` itself opens the route: a missing environment variable must not. If the guard asked this verifier, the route
  // would be closed.
  if (authentication === false) return new StaticTokens([]);
  const { tokens, verifier, ...unknown }: { tokens?: unknown; verifier?: unknown } = { ...authentication };
  const isUnambiguous = Object.keys(unknown).length === 0 && (tokens === undefined || verifier === undefined);
  if (isUnambiguous && areTokens(tokens)) return new StaticTokens(numberTokens(tokens));
  check(
    isUnambiguous && isVerifier(verifier),
    "authentication must be { tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier }, or false",
  );
  return verifier;
}

function areTokens(value: unknown): value is readonly string[] {
  const isToken = (token: unknown): boolean => typeof token === 'string' && isBearerToken(token);
  return Array.isArray(value) && value.length > 0 && value.every(isToken);
}

function isVerifier(value: unknown): value is TokenVerifier {
  return typeof (value as TokenVerifier | null | undefined)?.verify === 'function';
}

function isRepository(value: string | PlantRepository | undefined): value is string | PlantRepository {
  return typeof value === 'string' || typeof value?.add === 'function';
}

/** Returns whether a challenge can quote the text unchanged (RFC 9110 §5.6.4): printable ASCII without `"` and `\`. */
function isRealm(text: string): boolean {
  return /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}

function isBodyLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MAX_BODY_LIMIT;
}
