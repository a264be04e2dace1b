import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { isBearerToken } from './bearer-token.js';
import type { Principal } from './principal.js';
import { TokenRefusedError, type TokenVerifier, verifyToken } from './token-verifier.js';

/** Passport's registry belongs to the process, and `bearer` to the host. */
export const STRATEGY = 'plant-store-bearer';

/** The request that passport sees. */
export interface BearerRequest {
  readonly headers: { readonly authorization?: string };
  /** Comes with the request because all applications of the process share the strategy. */
  readonly verifier: TokenVerifier;
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
    return verifyToken(token, verifier);
  }
}
