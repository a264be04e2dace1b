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

/** The verifier if the host decides. It refuses every token: if the guard ever asked it, the route would be closed. */
const NO_TOKENS = new StaticTokens([]);

/**
 * Fills in the defaults, and checks what the types do not check: the syntax and the range of values, and values that are
 * undefined because an environment variable is missing.
 *
 * @throws {TypeError} at an option that is unknown or wrong; its message is one line
 */
export function resolveOptions(options: Partial<PlantsModuleOptions>): ResolvedOptions {
  const { repository, authentication, scope, realm, body, database, onPlantCreated, ...others } = options;
  assert(isObject(body ?? {}), BODY_RULE);
  assert(isObject(database ?? {}), DATABASE_RULE);
  const { limit = DEFAULT_BODY_LIMIT, ...othersOfBody } = body ?? {};
  const {
    timeout = DATABASE_DEFAULTS.timeout,
    startTimeout = DATABASE_DEFAULTS.startTimeout,
    ...othersOfDatabase
  } = database ?? {};
  // TypeScript does not refuse unknown members in the result of a factory. If a host wrote `scopes` instead of `scope`, the
  // module would accept tokens with the default scope.
  const [unknown] = Object.keys({ ...others, ...othersOfBody, ...othersOfDatabase });
  if (unknown !== undefined) throw new TypeError(`PlantsModule: there is no option ${unknown}`);

  assert(
    typeof repository === 'string' || typeof repository?.add === 'function',
    'repository must be a URL such as sqlite:data/plants.db, or a PlantRepository',
  );
  const verifier = verifierOf(authentication);
  assert(
    verifier !== undefined,
    "authentication must be { tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier }, or false",
  );
  const resolvedScope = scope ?? DEFAULT_SCOPE;
  assert(
    isScope(resolvedScope),
    'scope must be one word such as plants:write, without spaces, quotation marks and backslashes',
  );
  const resolvedRealm = realm ?? DEFAULT_REALM;
  assert(
    isRealm(resolvedRealm),
    'realm must be a text of printable ASCII characters without quotation marks and backslashes',
  );
  const bodyLimit = parseBodyLimit(`${limit}`);
  assert(bodyLimit !== undefined, BODY_RULE);
  assert(isTimeout(timeout) && isTimeout(startTimeout), DATABASE_RULE);
  return {
    repository,
    verifier,
    hostDecides: authentication === false,
    scope: resolvedScope,
    realm: resolvedRealm,
    bodyLimit,
    database: { timeout, startTimeout },
    onPlantCreated,
  };
}

function assert(isValid: boolean, rule: string): asserts isValid {
  if (!isValid) throw new TypeError(`PlantsModule: the option ${rule}`);
}

/** Returns the verifier that the option describes, or NO_TOKENS if the host decides; undefined for an invalid option. */
function verifierOf(authentication: PlantsModuleOptions['authentication'] | undefined): TokenVerifier | undefined {
  // Only `false` itself opens the route: a missing environment variable must not.
  if (authentication === false) return NO_TOKENS;
  // A JavaScript host may pass anything: the spread makes an object of it.
  const given: object = { ...authentication };
  if (Object.keys(given).length !== 1) return undefined;
  if ('verifier' in given) return isVerifier(given.verifier) ? given.verifier : undefined;
  return 'tokens' in given && areTokens(given.tokens) ? new StaticTokens(numberTokens(given.tokens)) : undefined;
}

function isVerifier(value: unknown): value is TokenVerifier {
  return typeof (value as TokenVerifier | null | undefined)?.verify === 'function';
}

/** Returns whether a value is a list of tokens, at least one. */
function areTokens(value: unknown): value is readonly string[] {
  // Array.from turns holes of the list into undefined, which `every` would skip.
  return Array.isArray(value) && value.length > 0 && Array.from<unknown>(value).every(isToken);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value);
}

function isToken(token: unknown): token is string {
  return typeof token === 'string' && isBearerToken(token);
}

function isTimeout(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 3_600_000;
}
