import type { BearerAuthOptions } from '../auth/bearer-auth.guard.js';
import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { DEFAULT_SCOPE, isBearerToken, isScope, type TokenVerifier } from '../auth/token-verifier.js';
import { DATABASE_DEFAULTS } from '../storage/engines.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { PlantCreatedListener, PlantsModuleOptions } from './plants.module-definition.js';

/** Maximum bytes of a request body, unless the option `body.limit` or the variable BODY_LIMIT sets another limit. */
export const DEFAULT_BODY_LIMIT = 1_048_576;

/** The rule of `parseBodyLimit`, for messages. */
export const BODY_LIMIT_RULE = 'a size from 1b to 255mb, for example 512kb';

/** Bytes in a unit. */
const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1_024, mb: 1_048_576 };

/** The checked options, with the defaults; the class is also their injection token. */
export abstract class ResolvedOptions {
  abstract readonly repository: string | PlantRepository;
  abstract readonly authentication: BearerAuthOptions;
  /** Maximum bytes of a body. */
  abstract readonly bodyLimit: number;
  abstract readonly database: { readonly timeout: number; readonly startTimeout: number };
  abstract readonly onPlantCreated: PlantCreatedListener | undefined;
}

/**
 * Fills in the defaults, and checks what the types of TypeScript do not check: the syntax and the range of values, values that
 * are undefined because an environment variable is missing, and unknown members in the result of a factory. If a host wrote
 * `scopes` instead of `scope`, the module would accept tokens with the default scope.
 *
 * @throws {TypeError} at an option that is unknown or wrong; its message is one line
 */
export function resolveOptions(options: PlantsModuleOptions): ResolvedOptions {
  const { repository, authentication, body, database, onPlantCreated, ...others } = options;
  const { scope = DEFAULT_SCOPE, realm = 'plants', ...unknown } = others;
  const { limit = DEFAULT_BODY_LIMIT, ...unknownOfBody } = { ...body };
  const {
    timeout = DATABASE_DEFAULTS.timeout,
    startTimeout = DATABASE_DEFAULTS.startTimeout,
    ...more
  } = { ...database };
  const [name] = Object.keys({ ...unknown, ...unknownOfBody, ...more });
  if (name !== undefined) throw new TypeError(`PlantsModule: there is no option ${name}`);
  const verifier = verifierOf(authentication);
  const bodyLimit = parseBodyLimit(`${limit}`);
  check(isRepository(repository), 'repository must be a URL such as sqlite:data/plants.db, or a PlantRepository');
  check(
    verifier !== undefined,
    "authentication must be { tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier }, or false",
  );
  check(isScope(scope), 'scope must be one word such as plants:write, without spaces, quotation marks and backslashes');
  check(isRealm(realm), 'realm must be printable ASCII characters, without quotation marks and backslashes');
  check(bodyLimit !== undefined, `body.limit must be a number of bytes or ${BODY_LIMIT_RULE}`);
  check(isTimeout(timeout) && isTimeout(startTimeout), 'database must have timeouts from 1 to 3600000');
  check(onPlantCreated === undefined || typeof onPlantCreated === 'function', 'onPlantCreated must be a function');
  return {
    repository,
    authentication: { verifier, hostDecides: authentication === false, scope, realm },
    bodyLimit,
    database: { timeout, startTimeout },
    onPlantCreated,
  };
}

/**
 * Parses a size, and returns it in bytes; undefined if it is not valid. The maximum is 255 MiB: SQL doubles each quotation
 * mark, and V8 has no string of 512 MiB.
 */
export function parseBodyLimit(text: string): number | undefined {
  const [, count, unit = 'b'] = /^(\d{1,9}(?:\.\d+)?)(b|kb|mb)?$/.exec(text.toLowerCase()) ?? [];
  const size = Math.floor(Number(count) * (UNITS[unit] ?? NaN));
  return size >= 1 && size <= 267_386_880 ? size : undefined;
}

function check(isValid: boolean, rule: string): asserts isValid {
  if (!isValid) throw new TypeError(`PlantsModule: the option ${rule}`);
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

function isTimeout(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 3_600_000;
}
