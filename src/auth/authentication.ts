import type { RefusalDelay } from './refusals.js';
import type { TokenVerifier } from './token-verifier.js';

/** What the guard goes by: a port, and its own injection token. */
export abstract class Authentication {
  /** False where a guard of somebody else decides, and ours lets everything pass. */
  abstract readonly verifier: TokenVerifier | false;
  /** What a token that has scopes at all must have among them (RFC 6749 §3.3). */
  abstract readonly scope: string;
  /** Names the protected space in challenges (RFC 9110 §11.5). */
  abstract readonly realm: string;
  /** Slows down those who guess. */
  abstract readonly delay: RefusalDelay;
}

/** All that passport sees of a request. */
export interface Credentials {
  readonly headers: { readonly authorization?: string };
  /** Comes with the request, because applications in one process share the strategy. */
  readonly verifier: TokenVerifier | false;
}

/** The scope that creates plants, unless another one is configured. */
export const DEFAULT_SCOPE = 'plants:write';

/** Whether this is one scope (RFC 6749 §3.3, scope-token). */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}

/** Whether a quoted string (RFC 9110 §5.6.4) holds this without escapes. */
export function isRealm(text: string): boolean {
  return /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}
