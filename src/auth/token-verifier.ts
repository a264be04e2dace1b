/** The holder of a valid token. */
export interface Principal {
  /** A name for the log, never the token. */
  readonly name: string;
  /** The scopes of the token (RFC 6749 §3.3), or `all` if it may do everything. */
  readonly scopes: readonly string[] | 'all';
}

/** Why a token is refused. Logs and metrics have the reason; the client never gets it. */
export const REFUSAL_REASONS = ['missing', 'malformed', 'unknown', 'expired', 'invalid'] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface Refusal {
  readonly refused: RefusalReason;
  /** The fault of the token and the rule that it breaks, for the log. It must not quote the token. */
  readonly detail?: string | undefined;
}

/** The principal of a valid token, or why it is refused; undefined means `unknown`. */
export type VerificationResult = Principal | Refusal | undefined;

/** Decides which tokens are valid. The class is also the injection token. */
export abstract class TokenVerifier {
  /** @throws {HttpException} for example ServiceUnavailableException (error 503); anything else is error 500 */
  abstract verify(token: string): VerificationResult | Promise<VerificationResult>;

  /** Nest calls it before the application listens. */
  onModuleInit?(): unknown;

  /** Nest calls it when the application closes. */
  onApplicationShutdown?(signal?: string): unknown;
}

// A verifier of a host may be in JavaScript, and so return anything.

export function isPrincipal(result: unknown): result is Principal {
  const { name, scopes } = result as Principal;
  return typeof name === 'string' && (scopes === 'all' || Array.isArray(scopes));
}

export function isRefusal(result: unknown): result is Refusal {
  return REFUSAL_REASONS.some((reason) => reason === (result as Refusal | undefined)?.refused);
}

/** Returns whether the text is a token (RFC 6750 §2.1, b64token). */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}

/** The options of BearerAuthGuard; the class is also their injection token. */
export abstract class BearerAuthOptions {
  /** True if a guard of the host decides: ours then passes every request. */
  abstract readonly hostDecides: boolean;
  /** The scope that a token with scopes must have (RFC 6749 §3.3). */
  abstract readonly scope: string;
  /** The name of the protected space in challenges (RFC 9110 §11.5). */
  abstract readonly realm: string;
}

export const DEFAULT_SCOPE = 'plants:write';

/** Returns whether the text is one scope (RFC 6749 §3.3, scope-token): printable ASCII without space, `"` and `\`. */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}
