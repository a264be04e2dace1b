import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { isBearerToken } from './bearer-auth-options.js';
import type { BearerRequest, Principal, RefusalReason } from './token-verifier.js';

/** Passport's registry belongs to the process, and `bearer` to the host. */
export const STRATEGY = 'plant-store-bearer';

/** Hands the token of a request to the verifier, and its result to the guard. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  async validate({ verifier }: BearerRequest, token: string): Promise<Principal | RefusalReason> {
    if (!isBearerToken(token)) return 'malformed';
    return (await verifier.verify(token)) ?? 'unknown';
  }
}
