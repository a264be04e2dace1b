import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { Principal } from './principal.js';
import { type TokenVerifier, verifyToken } from './token-verifier.js';

/** Passport's registry belongs to the process, and `bearer` to the host. */
export const STRATEGY = 'plant-store-bearer';

/** The request that passport sees. */
export interface BearerRequest {
  readonly headers: { readonly authorization?: string };
  /** Comes with the request because all applications of the process share the strategy. */
  readonly verifier: TokenVerifier | false;
}

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** @throws {TokenRefusedError} if the token is not valid */
  validate({ verifier }: BearerRequest, token: string): Principal | false | Promise<Principal> {
    return verifier && verifyToken(token, verifier);
  }
}
