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
