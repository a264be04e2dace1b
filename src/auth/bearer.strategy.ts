import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { BearerRequest } from './bearer-request.js';
import { isBearerToken } from './bearer-syntax.js';
import { checkResult, ExpiredToken, type Principal, type RefusalReason } from './token-verifier.js';

/** Passport's registry belongs to the process, and `bearer` to the host. */
export const STRATEGY = 'plant-store-bearer';

/** Tells BearerAuthGuard why a token is refused. */
export class TokenRefused extends Error {
  /** @param holder the principal of a token that has expired */
  constructor(
    readonly reason: RefusalReason,
    readonly holder?: Principal,
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

  /**
   * Returns the principal of a token, or false if the request comes from another guard than BearerAuthGuard.
   *
   * @throws {TokenRefused} if the token is not valid
   */
  async validate(request: unknown, token: string): Promise<Principal | false> {
    if (!(request instanceof BearerRequest)) return false;
    if (!isBearerToken(token)) throw new TokenRefused('malformed');
    let result: ReturnType<typeof checkResult>;
    try {
      result = checkResult(await request.verifier.verify(token));
    } catch (error) {
      if (error) throw error;
      // Passport would take a value that is false for no error.
      throw new Error(`The verifier of tokens has thrown ${String(error)}`, { cause: error });
    }
    if (typeof result === 'string') throw new TokenRefused(result);
    if (result instanceof ExpiredToken) throw new TokenRefused('expired', result.holder);
    return result;
  }
}
