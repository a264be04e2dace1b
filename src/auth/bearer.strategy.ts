import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { nodeRequest } from '../node-request.js';
import { checkResult } from './check-result.js';
import { isBearerToken, type TokenVerifier, type VerificationResult } from './token-verifier.js';

/** The name in passport's registry, which the process shares: a host may use `bearer` itself. */
export const STRATEGY = 'plant-store-bearer';

/**
 * Replaces the request for passport, which would also take tokens from its query and body (RFC 6750 §2.1). Passport and Nest
 * add properties to it.
 */
export class BearerRequest {
  readonly headers: { readonly authorization: string | undefined };

  /** @param verifier passed with the request, because all applications of the process share the strategy */
  constructor(
    request: object,
    readonly verifier: TokenVerifier,
  ) {
    // RFC 6750 §2.1 allows several spaces after the scheme, but passport-http-bearer only one.
    this.headers = { authorization: authorizationOf(request)?.replace(/ {2,}/, ' ') };
  }
}

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /**
   * Returns the result of the verifier, or false if the request comes from another guard than BearerAuthGuard.
   *
   * @throws what the verifier throws, or an Error instead of a value that passport does not take for an error
   */
  async validate(request: unknown, token: string): Promise<VerificationResult | false> {
    if (!(request instanceof BearerRequest)) return false;
    if (!isBearerToken(token)) return 'malformed';
    try {
      return checkResult(await request.verifier.verify(token));
    } catch (error) {
      if (error) throw error;
      // If a verifier rejects with undefined, passport would see no error, and refuse the request with 401.
      throw new Error(`The verifier of tokens has thrown ${String(error)}`, { cause: error });
    }
  }
}

/**
 * Returns the value of the header, unless there are two. Without `joinDuplicateHeaders`, Node keeps only the first one
 * in `headers`; `rawHeaders` has both.
 */
function authorizationOf(request: object): string | undefined {
  const { headers, rawHeaders } = nodeRequest(request);
  return rawHeaders.filter(isAuthorization).length > 1 ? undefined : headers.authorization;
}

function isAuthorization(text: string, index: number): boolean {
  return index % 2 === 0 && text.length === 13 && text.toLowerCase() === 'authorization';
}
