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
  const { expires } = principal;
  return expires !== undefined && expires.getTime() <= Date.now() ? new ExpiredToken(principal) : principal;
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
