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

/** Returns whether the text is one scope (RFC 6749 §3.3, scope-token). */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}

/** Returns whether a challenge can hold the text between quotation marks as it is (RFC 9110 §5.6.4). */
export function isRealm(text: string): boolean {
  return /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}
