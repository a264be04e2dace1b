import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { isBearerToken } from './bearer-auth-options.js';
import type { BearerRequest, Principal, RefusalReason } from './token-verifier.js';

/** Passport's registry belongs to the process, and `bearer` to the host. */
export const STRATEGY = 'plant-store-bearer';

/** The token is not valid; its holder is known if it was valid once. */
export class TokenRefusedError extends Error {
  constructor(
    readonly reason: RefusalReason,
    readonly holder?: string,
  ) {
    super(reason);
  }
}

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** @throws {TokenRefusedError} if the token is not valid */
  async validate({ verifier }: BearerRequest, token: string): Promise<Principal> {
    if (!isBearerToken(token)) throw new TokenRefusedError('malformed');
    const result = (await verifier.verify(token)) ?? 'unknown';
    if (typeof result === 'string') throw new TokenRefusedError(result);
    // A verifier may return a principal that it remembers.
    const { name, expires } = result;
    if (expires !== undefined && expires.getTime() <= Date.now()) throw new TokenRefusedError('expired', name);
    return result;
  }
}
