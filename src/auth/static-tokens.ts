import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { TokenVerifier, unlessExpired, type VerificationResult } from './token-verifier.js';

/** A token that is configured beforehand. Only its digest is kept. */
export interface StaticToken {
  readonly name: string;
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Uint8Array;
  readonly expires?: Date | undefined;
}

/** Verifies tokens against a list, with constant-time comparison of their digests. */
export class StaticTokens extends TokenVerifier {
  constructor(private readonly tokens: readonly StaticToken[]) {
    super();
  }

  /** Number of tokens, expired ones included. */
  get count(): number {
    return this.tokens.length;
  }

  /** Returns when the next token expires; undefined if none will. */
  nextExpiry(): Date | undefined {
    const now = new Date();
    const expiries = this.tokens.flatMap(({ expires }) => (expires !== undefined && expires > now ? expires : []));
    return expiries.sort((one, other) => one.getTime() - other.getTime())[0];
  }

  override verify(token: string): VerificationResult {
    const digest = digestToken(token);
    let found: StaticToken | undefined;
    for (const candidate of this.tokens) {
      // The same token may be in the environment and in the file. The later expiry counts.
      if (timingSafeEqual(candidate.digest, digest) && endOf(candidate) >= endOf(found)) found = candidate;
    }
    if (found === undefined) return 'unknown';
    const { name, expires } = found;
    return unlessExpired(expires === undefined ? { name } : { name, expires });
  }
}

/** Returns the time at which a token expires, in milliseconds; -Infinity if there is no token. */
function endOf(token: StaticToken | undefined): number {
  return token === undefined ? -Infinity : (token.expires?.getTime() ?? Infinity);
}

/** Names tokens in clear text `token-1`, `token-2` and so on. */
export function numberTokens(tokens: readonly string[]): StaticToken[] {
  return tokens.map((token, index) => ({ name: `token-${index + 1}`, digest: digestToken(token) }));
}

/** Returns a new token of 256 random bits. */
export function generateToken(): string {
  return randomBytes(32).toString('base64url');
}

export function digestToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
