import { types } from 'node:util';

/** The holder of a valid token. */
export interface Principal {
  /** A name for the log, never the token. */
  readonly name: string;
  /** The issuer of the JWT whose subject has this name. A static token has none, and may have the same name. */
  readonly issuer?: string | undefined;
  /** The scopes of the token (RFC 6749 §3.3); a token without this list may do everything. */
  readonly scopes?: readonly string[] | undefined;
  /** The instant from which the token is no longer valid. */
  readonly expires?: Date | undefined;
}

/** Why a token is rejected. Logs and metrics have the reason; the client never gets it. */
export const REFUSAL_REASONS = [
  'malformed',
  'unknown',
  'expired',
  'not-yet-valid',
  'wrong-issuer',
  'wrong-audience',
  'wrong-type',
  'wrong-algorithm',
  'wrong-claim',
  'wrong-signature',
  'unknown-key',
  'unusable-key',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/**
 * The result for a token that has expired. The log names its holder. It is not the principal itself, because a host that
 * reads only the name and the scopes of a result must not take the token for a valid one.
 */
export class ExpiredToken {
  constructor(readonly holder: Principal) {}
}

/** The principal of a valid token, or why it is rejected; undefined means `unknown`. */
export type VerificationResult = Principal | ExpiredToken | RefusalReason | undefined;

/** Returns the principal of a token, unless the token has expired. */
export function unlessExpired(principal: Principal): Principal | ExpiredToken {
  return isExpired(principal) ? new ExpiredToken(principal) : principal;
}

function isExpired({ expires }: Principal): boolean {
  return expires !== undefined && expires.getTime() <= Date.now();
}

/** A token that is rejected. */
export class Rejection {
  /** @param holder the holder of a token that has expired */
  constructor(
    readonly reason: RefusalReason,
    readonly holder?: Principal,
  ) {}
}

/** A result that was checked. */
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

/** Returns whether the text is a token (RFC 6750 §2.1, b64token). */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}

/** Decides which tokens are valid. The class is also the injection token. */
export abstract class TokenVerifier {
  /** @throws {HttpException} for example ServiceUnavailableException (error 503); anything else is error 500 */
  abstract verify(token: string): VerificationResult | Promise<VerificationResult>;

  /** Nest calls it before the application listens. */
  onModuleInit?(): unknown;

  /** Nest calls it when the application closes. */
  onApplicationShutdown?(signal?: string): unknown;
}
