import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { Principal } from './principal.js';
import { principalFor, type TokenVerifier } from './token-verifier.js';

/** Passport's registry belongs to the whole process: a host's own `bearer` must stay what it is. */
export const STRATEGY = 'plant-store-bearer';

/** All that passport sees of a request. */
export interface Credentials {
  readonly headers: { readonly authorization?: string };
  /** Comes with the request, because applications in one process share the strategy. */
  readonly verifier: TokenVerifier | false;
}

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** @throws {TokenRefused} when the token is not valid */
  async validate({ verifier }: Credentials, token: string): Promise<Principal | false> {
    return verifier && principalFor(token, verifier);
  }
}
