import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { TokenVerifier, type VerificationResult } from './token-verifier.js';

/** A token that is known beforehand, by its digest alone. */
export interface StaticToken {
  /** The name of the principal. */
  readonly name: string;
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Uint8Array;
  /** The instant from which it is not valid any more. */
  readonly expires?: Date | undefined;
}

/** Verifies tokens against a fixed list, in a time that does not depend on which of them comes near. */
export class StaticTokens extends TokenVerifier {
  #tokens: readonly StaticToken[];

  constructor(tokens: readonly StaticToken[]) {
    super();
    this.#tokens = tokens;
  }

  /** Verifies against this list from now on. */
  replace(tokens: readonly StaticToken[]): void {
    this.#tokens = tokens;
  }

  override verify(token: string): VerificationResult {
    const digest = digestOf(token);
    let found: StaticToken | undefined;
    for (const candidate of this.#tokens) {
      if (timingSafeEqual(candidate.digest, digest)) found = candidate;
    }
    if (found === undefined) return 'unknown';
    return found.expires === undefined ? { name: found.name } : { name: found.name, expires: found.expires };
  }
}

/** A new token of 256 bits. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256 of a token, which is all that is ever kept of it. */
export function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
