import { DEFAULT_REALM, DEFAULT_SCOPE, isRealm, isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken, type TokenVerifier } from '../auth/token-verifier.js';
import { DATABASE_DEFAULTS } from '../storage/engines.js';
import { BODY_LIMIT_RULE, DEFAULT_BODY_LIMIT, parseBodyLimit } from './body-limit.js';
import type { PlantsModuleOptions } from './plants.module-definition.js';

/** The checked options, with the defaults. */
export interface ResolvedOptions extends Pick<PlantsModuleOptions, 'repository' | 'authentication' | 'onPlantCreated'> {
  readonly scope: string;
  readonly realm: string;
  /** Maximum bytes of a body. */
  readonly bodyLimit: number;
  readonly database: { readonly timeout: number; readonly startTimeout: number };
}

/** The injection token of the resolved options. */
export const RESOLVED_OPTIONS = Symbol('RESOLVED_OPTIONS');

/**
 * Fills in the defaults, and checks what the types do not check: the syntax and the range of values, and values that are
 * undefined because an environment variable is missing.
 *
 * @throws {TypeError} at an option that is unknown or wrong; its message is one line
 */
export function resolveOptions(options: Partial<PlantsModuleOptions>): ResolvedOptions {
  const { repository, authentication, scope, realm, body, database = {}, onPlantCreated, ...others } = options;
  // TypeScript does not refuse unknown members in the result of a factory. If a host wrote `scopes` instead of `scope`, the
  // module would accept tokens with the default scope.
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new TypeError(`PlantsModule: there is no option ${unknown}`);

  assert(
    typeof repository === 'string' || typeof repository?.add === 'function',
    'repository must be a URL such as sqlite:data/plants.db, or a PlantRepository',
  );
  assert(
    isAuthentication(authentication),
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
  const { limit = DEFAULT_BODY_LIMIT } = body ?? {};
  const bodyLimit = parseBodyLimit(`${limit}`);
  assert(bodyLimit !== undefined, `body must be { limit }, a number of bytes or ${BODY_LIMIT_RULE}`);
  const { timeout = DATABASE_DEFAULTS.timeout, startTimeout = DATABASE_DEFAULTS.startTimeout } = database;
  assert(
    isTimeout(timeout) && isTimeout(startTimeout),
    'database must be { timeout, startTimeout }, each a number from 1 to 3600000',
  );
  return {
    repository,
    authentication,
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

/** Returns whether the option is valid. Only `false` itself opens the route: a missing environment variable must not. */
function isAuthentication(
  authentication: PlantsModuleOptions['authentication'] | undefined,
): authentication is PlantsModuleOptions['authentication'] {
  if (authentication === false) return true;
  if (Object.keys(authentication ?? {}).length !== 1) return false;
  const { tokens, verifier }: Authentication = authentication ?? {};
  if (verifier !== undefined) return typeof verifier.verify === 'function';
  // Array.from turns holes of the list into undefined, which `every` would skip.
  const list: readonly unknown[] = Array.isArray(tokens) ? Array.from<unknown>(tokens) : [];
  return list.length > 0 && list.every((token) => typeof token === 'string' && isBearerToken(token));
}

interface Authentication {
  readonly tokens?: unknown;
  readonly verifier?: Partial<TokenVerifier>;
}

function isTimeout(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 3_600_000;
}
