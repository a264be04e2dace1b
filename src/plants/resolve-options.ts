import { type BearerAuthOptions, DEFAULT_REALM, DEFAULT_SCOPE, isRealm, isScope } from '../auth/bearer-auth-options.js';
import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { isBearerToken, type TokenVerifier } from '../auth/token-verifier.js';
import { DATABASE_DEFAULTS } from '../storage/engines.js';
import { BODY_LIMIT_RULE, DEFAULT_BODY_LIMIT, parseBodyLimit } from './body-limit.js';
import type { PlantsModuleOptions } from './plants.module-definition.js';

/** The checked options, with the defaults. */
export interface ResolvedOptions extends BearerAuthOptions, Pick<PlantsModuleOptions, 'repository' | 'onPlantCreated'> {
  /** Maximum bytes of a body. */
  readonly bodyLimit: number;
  readonly database: { readonly timeout: number; readonly startTimeout: number };
}

/** The injection token of the resolved options. */
export const RESOLVED_OPTIONS = Symbol('RESOLVED_OPTIONS');

const BODY_RULE = `body must be { limit }, a number of bytes or ${BODY_LIMIT_RULE}`;
const DATABASE_RULE = 'database must be { timeout, startTimeout }, each a number from 1 to 3600000';

/**
 * Fills in the defaults, and checks what the types do not check: the syntax and the range of values, and values that are
 * undefined because an environment variable is missing.
 *
 * @throws {TypeError} at an option that is unknown or wrong; its message is one line
 */
export function resolveOptions(options: Partial<PlantsModuleOptions>): ResolvedOptions {
  const { repository, authentication, body = {}, database = {}, onPlantCreated, ...others } = options;
  const { scope = DEFAULT_SCOPE, realm = DEFAULT_REALM, ...unknown } = others;
  check(isObject(body), BODY_RULE);
  check(isObject(database), DATABASE_RULE);
  const { limit = DEFAULT_BODY_LIMIT, ...unknownOfBody } = body;
  const { timeout = DATABASE_DEFAULTS.timeout, startTimeout = DATABASE_DEFAULTS.startTimeout, ...more } = database;
  const bodyLimit = parseBodyLimit(`${limit}`);
  // TypeScript does not refuse unknown members in the result of a factory. If a host wrote `scopes` instead of `scope`, the
  // module would accept tokens with the default scope.
  const [name] = Object.keys({ ...unknown, ...unknownOfBody, ...more });
  if (name !== undefined) throw new TypeError(`PlantsModule: there is no option ${name}`);
  check(isRepository(repository), 'repository must be a URL such as sqlite:data/plants.db, or a PlantRepository');
  const verifier = verifierOf(authentication);
  check(
    verifier !== undefined,
    "authentication must be { tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier }, or false",
  );
  check(isScope(scope), 'scope must be one word such as plants:write, without spaces, quotation marks and backslashes');
  check(isRealm(realm), 'realm must be printable ASCII characters, without quotation marks and backslashes');
  check(bodyLimit !== undefined, BODY_RULE);
  check(isTimeout(timeout) && isTimeout(startTimeout), DATABASE_RULE);
  check(onPlantCreated === undefined || typeof onPlantCreated === 'function', 'onPlantCreated must be a function');
  const hostDecides = authentication === false;
  return {
    repository,
    verifier,
    hostDecides,
    scope,
    realm,
    bodyLimit,
    database: { timeout, startTimeout },
    onPlantCreated,
  };
}

function check(isValid: boolean, rule: string): asserts isValid {
  if (!isValid) throw new TypeError(`PlantsModule: the option ${rule}`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRepository(
  value: PlantsModuleOptions['repository'] | undefined,
): value is PlantsModuleOptions['repository'] {
  return typeof value === 'string' || typeof value?.add === 'function';
}

/** Returns the verifier that the option describes; undefined for an invalid option. */
function verifierOf(authentication: PlantsModuleOptions['authentication'] | undefined): TokenVerifier | undefined {
  // Only `false` itself opens the route: a missing environment variable must not. If the guard asked this verifier, the route
  // would be closed.
  if (authentication === false) return new StaticTokens([]);
  const { tokens, verifier, ...unknown }: { tokens?: unknown; verifier?: unknown } = { ...authentication };
  if (Object.keys(unknown).length > 0 || (tokens !== undefined && verifier !== undefined)) return undefined;
  if (areTokens(tokens)) return new StaticTokens(numberTokens(tokens));
  return isVerifier(verifier) ? verifier : undefined;
}

function areTokens(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((token) => typeof token === 'string' && isBearerToken(token))
  );
}

function isVerifier(value: unknown): value is TokenVerifier {
  return typeof (value as TokenVerifier | null | undefined)?.verify === 'function';
}

function isTimeout(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 3_600_000;
}
