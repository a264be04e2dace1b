import { types } from 'node:util';
import {
  ExpiredToken,
  type Principal,
  REFUSAL_REASONS,
  type RefusalReason,
  unlessExpired,
  type VerificationResult,
} from './token-verifier.js';

/**
 * Checks the result of a verifier, and returns it: undefined as `unknown`, and an expired principal as an ExpiredToken. The
 * verifier of a host may be in JavaScript, so the result may have any type, and may cache a principal for too long.
 *
 * @throws {TypeError} if the result is not a VerificationResult
 */
export function checkResult(result: unknown): VerificationResult {
  if (result === undefined) return 'unknown';
  if (isRefusalReason(result) || result instanceof ExpiredToken) return result;
  assertPrincipal(result);
  return unlessExpired(result);
}

function assertPrincipal(result: unknown): asserts result is Principal {
  const fault = faultOf(result);
  if (fault === undefined) return;
  throw new TypeError(
    `TokenVerifier.verify must return a principal, an ExpiredToken, a RefusalReason or undefined, and not ${fault}`,
  );
}

/** Returns what is wrong with a principal, without its values: one of them may be the token. */
function faultOf(result: unknown): string | undefined {
  if (typeof result !== 'object' || result === null) return `something else of type ${typeof result}`;
  // An Error has a name, and would be a principal who may do everything: a host may return what it should throw.
  if (result instanceof Error || types.isNativeError(result)) return 'an Error';
  // The name of the claim in a JWT. Without `scopes`, the principal might do everything.
  if ('scope' in result) return 'an object with scope instead of scopes';
  const { name, scopes, expires } = result as Record<keyof Principal, unknown>;
  if (typeof name !== 'string') return 'an object without a name';
  const isText = (scope: unknown): boolean => typeof scope === 'string';
  if (scopes !== undefined && !(Array.isArray(scopes) && scopes.every(isText))) {
    return 'scopes that are no array of strings';
  }
  if (expires !== undefined && !(types.isDate(expires) && !Number.isNaN(expires.getTime()))) {
    return 'an expiry that is no valid Date';
  }
  return undefined;
}

function isRefusalReason(result: unknown): result is RefusalReason {
  return REFUSAL_REASONS.some((reason) => reason === result);
}
