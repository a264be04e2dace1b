import { isRealm, isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken, type TokenVerifier } from '../auth/token-verifier.js';
import { BODY_LIMIT_RULE, parseBodyLimit } from './body-limit.js';
import type { PlantsModuleOptions } from './plants.module-definition.js';

/**
 * Checks what the types do not: the syntax and the range of values, and environment variables that are missing.
 *
 * @throws {TypeError} at an option that is unknown or wrong; its message is one line
 */
export function checkOptions(options: Partial<PlantsModuleOptions>): void {
  const { repository, authentication, scope, realm, body, database = {}, ...others } = options;
  // TypeScript does not refuse unknown members in the result of a factory. With `scopes` instead of `scope`, the module
  // would let in tokens with the default scope.
  const unknown = Object.keys(others).find((name) => name !== 'onPlantCreated');
  if (unknown !== undefined) throw new TypeError(`PlantsModule: there is no option ${unknown}`);

  assert(
    typeof repository === 'string' || typeof repository?.add === 'function',
    'repository must be a URL such as sqlite:data/plants.db, or a PlantRepository',
  );
  assert(
    isAuthentication(authentication),
    "authentication must be { tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier }, or false",
  );
  assert(
    scope === undefined || isScope(scope),
    'scope must be one word such as plants:write, without spaces, quotation marks and backslashes',
  );
  assert(
    realm === undefined || isRealm(realm),
    'realm must be a text of printable ASCII characters without quotation marks and backslashes',
  );
  assert(
    body?.limit === undefined || parseBodyLimit(`${body.limit}`) !== undefined,
    `body must be { limit }, a number of bytes or ${BODY_LIMIT_RULE}`,
  );
  assert(
    [database.timeout, database.startTimeout].every(isTimeout),
    'database must be { timeout, startTimeout }, each a number from 1 to 3600000',
  );
}

function assert(isValid: boolean, rule: string): void {
  if (!isValid) throw new TypeError(`PlantsModule: the option ${rule}`);
}

/** Only the literal `false` opens the route. An environment variable that is missing is no token. */
function isAuthentication(authentication: PlantsModuleOptions['authentication'] | undefined): boolean {
  if (authentication === false) return true;
  if (Object.keys(authentication ?? {}).length !== 1) return false;
  const { tokens = [], verifier }: Authentication = authentication ?? {};
  if (verifier !== undefined) return typeof verifier.verify === 'function';
  // Array.from shows holes of the list, too.
  return tokens.length > 0 && Array.from(tokens).every((token) => typeof token === 'string' && isBearerToken(token));
}

interface Authentication {
  readonly tokens?: readonly unknown[];
  readonly verifier?: Partial<TokenVerifier>;
}

function isTimeout(value: number | undefined): boolean {
  return value === undefined || (Number.isInteger(value) && value >= 1 && value <= 3_600_000);
}
