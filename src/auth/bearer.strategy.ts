import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { Credentials } from './authentication.js';
import type { Principal } from './principal.js';
import { principalFor } from './token-verifier.js';

/** Passport's registry belongs to the whole process: a host's own `bearer` must stay what it is. */
export const STRATEGY = 'plant-store-bearer';

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** @throws {TokenRefused} when the token is not valid */
  validate({ verifier }: Credentials, token: string): Principal | false | Promise<Principal> {
    return verifier && principalFor(token, verifier);
  }
}
