import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { BearerRequest } from './authentication.js';
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
   * @param request of BearerAuthGuard, whose authentication keeps the result; from any other guard with this strategy,
   *   passport gets the request itself, which is refused
   */
  async validate(request: unknown, token: string): Promise<Principal | false> {
    if (!(request instanceof BearerRequest)) return false;
    const { authentication } = request;
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
