import { Injectable, UnauthorizedException } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { ERROR_TABLE } from '../contract/error-table.js';
import {
  isBearerToken,
  isPrincipal,
  isRefusal,
  type Principal,
  type Refusal,
  type TokenVerifier,
} from './token-verifier.js';

/** The name in passport's registry, which the process shares: a host may use `bearer` itself. */
export const STRATEGY = 'plant-store-bearer';

/**
 * What BearerAuthGuard gives passport for a request. It has the Authorization header alone, because passport would also
 * take tokens from the query and the body (RFC 6750 §2.1).
 */
export class BearerRequest {
  readonly headers: { readonly authorization: string | undefined };

  /** @param verifier travels with the request, because all applications of the process share the strategy */
  constructor(
    authorization: string | undefined,
    readonly verifier: TokenVerifier,
  ) {
    // RFC 6750 §2.1 allows several spaces after the scheme, but passport-http-bearer only one.
    this.headers = { authorization: authorization?.replace(/ {2,}/, ' ') };
  }
}

/** Validates the token that passport has found in a BearerRequest. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /**
   * Returns the principal, which passport takes for its user. Returns false to another guard than BearerAuthGuard.
   *
   * @throws {UnauthorizedException} if the token is refused
   * @throws what the verifier throws, or a TypeError if it returns anything but a VerificationResult
   */
  async validate(request: unknown, token: string): Promise<Principal | false> {
    if (!(request instanceof BearerRequest)) return false;
    if (!isBearerToken(token)) throw unauthorized({ refused: 'malformed', detail: 'no token has such characters' });
    const result: unknown = (await request.verifier.verify(token)) ?? { refused: 'unknown' };
    if (isRefusal(result)) throw unauthorized(result);
    if (isPrincipal(result)) return result;
    throw new TypeError('TokenVerifier.verify must return a principal with name and scopes, a refusal, or undefined');
  }
}

/** Makes Nest's own exception, whose cause is the reason, because on its routes a host's filter must answer with 401. */
export function unauthorized(refusal: Refusal): UnauthorizedException {
  return new UnauthorizedException(ERROR_TABLE[401].message, { cause: refusal, description: 'Unauthorized' });
}
