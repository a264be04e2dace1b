import { types } from 'node:util';
import { ExpiredToken, isExpired, type Principal, REFUSAL_REASONS, type RefusalReason } from './token-verifier.js';

/** A token that is rejected. */
export class Rejection {
  /** @param holder the holder of a token that has expired */
  constructor(
    readonly reason: RefusalReason,
    readonly holder?: Principal,
  ) {}
}

/** The result of a verifier, after it was checked. */
export type Verdict = Principal | Rejection;

/**
 * Returns the verdict of a verifier. The verifier of a host may be in JavaScript, so the result may have any type, and may
 * cache a principal for too long.
 *
 * @throws {TypeError} if the result is not a VerificationResult
 */
export function toVerdict(result: unknown): Verdict {
  if (result === undefined) return new Rejection('unknown');
  if (isRefusalReason(result)) return new Rejection(result);
  if (result instanceof ExpiredToken) return new Rejection('expired', result.holder);
  assertPrincipal(result);
  return isExpired(result) ? new Rejection('expired', result) : result;
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
