import type { TokenVerifier } from './token-verifier.js';

/** The options of BearerAuthGuard; the class is also their injection token. */
export abstract class BearerAuthOptions {
  abstract readonly verifier: TokenVerifier;
  /** True if a guard of the host decides: ours then passes every request. */
  abstract readonly hostDecides: boolean;
  /** The scope that a token with scopes must have (RFC 6749 §3.3). */
  abstract readonly scope: string;
  /** The name of the protected space in challenges (RFC 9110 §11.5). */
  abstract readonly realm: string;
}

export const DEFAULT_SCOPE = 'plants:write';

export const DEFAULT_REALM = 'plants';
