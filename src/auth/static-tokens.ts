import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { TokenVerifier, type VerificationResult } from './token-verifier.js';

/** A token that is configured beforehand. Only its digest is kept. */
export interface StaticToken {
  readonly name: string;
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Uint8Array;
  readonly expires?: Date | undefined;
}

/** Verifies tokens against a list, with constant-time comparison of their digests. */
export class StaticTokens extends TokenVerifier {
  constructor(protected tokens: readonly StaticToken[]) {
    super();
  }

  /** Number of tokens, expired ones included. */
  get count(): number {
    return this.tokens.length;
  }

  /** Returns when the next token expires; undefined if none will. */
  nextExpiry(): Date | undefined {
    const expiries = this.tokens.flatMap((token) => (isExpired(token) ? [] : (token.expires ?? [])));
    return expiries.sort((one, other) => one.getTime() - other.getTime())[0];
  }

  override verify(token: string): VerificationResult {
    const digest = digestToken(token);
    const found = this.tokens.filter((candidate) => timingSafeEqual(candidate.digest, digest));
    // The same token may be in the environment and in the file.
    const valid = found.find((candidate) => !isExpired(candidate));
    if (valid !== undefined) return { name: valid.name, scopes: 'all' };
    return found[0] && { refused: 'expired', detail: `its holder is ${found[0].name}` };
  }
}

/** Returns whether a token has expired. */
export function isExpired({ expires }: Pick<StaticToken, 'expires'>): boolean {
  return expires !== undefined && expires.getTime() <= Date.now();
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
