import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { Authentication } from './authentication.js';
import { isBearerToken } from './bearer-auth-options.js';
import { checkResult, type Principal } from './token-verifier.js';

/** Passport's registry belongs to the process, and `bearer` to the host. */
export const STRATEGY = 'plant-store-bearer';

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /**
   * Returns the principal, or false for a refusal.
   *
   * @param authentication what BearerAuthGuard makes of the request, and keeps the result; passport gets the request
   *   itself from any other guard with this strategy, and refuses it
   */
  async validate(authentication: unknown, token: string): Promise<Principal | false> {
    if (!(authentication instanceof Authentication)) return false;
    const result = isBearerToken(token) ? checkResult(await authentication.verifier.verify(token)) : 'malformed';
    if (typeof result === 'string') {
      authentication.refusal = { reason: result };
      return false;
    }
    // A verifier may return a principal that it remembers.
    if (result.expires !== undefined && result.expires.getTime() <= Date.now()) {
      authentication.refusal = { reason: 'expired', principal: result.name, issuer: result.issuer };
      return false;
    }
    authentication.principal = result;
    return result;
  }
}
