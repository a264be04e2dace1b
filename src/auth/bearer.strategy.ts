import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { nodeRequest } from './authenticated-request.js';
import { isBearerToken, type TokenVerifier, toVerdict, type Verdict } from './token-verifier.js';

/** Passport's registry belongs to the process, and `bearer` to the host. */
export const STRATEGY = 'plant-store-bearer';

/**
 * What passport gets instead of the request, where it would also find tokens in the query and the body (RFC 6750 §2.1).
 * Passport and Nest write to it.
 */
export class BearerRequest {
  readonly headers: { readonly authorization: string | undefined };

  /** @param verifier comes with the request, because all applications of the process share the strategy */
  constructor(
    request: object,
    readonly verifier: TokenVerifier,
  ) {
    // RFC 6750 §2.1 allows several spaces behind the scheme, and passport-http-bearer one.
    this.headers = { authorization: authorizationOf(request)?.replace(/ {2,}/, ' ') };
  }
}

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** Returns the verdict on a token, or false if the request comes from another guard than BearerAuthGuard. */
  async validate(request: unknown, token: string): Promise<Verdict | false> {
    if (!(request instanceof BearerRequest)) return false;
    if (!isBearerToken(token)) return 'malformed';
    return askVerifier(request.verifier, token);
  }
}

/** @throws what the verifier throws, always as a value that passport takes for an error */
async function askVerifier(verifier: TokenVerifier, token: string): Promise<Verdict> {
  try {
    return toVerdict(await verifier.verify(token));
  } catch (error) {
    if (error) throw error;
    // A verifier may reject with undefined: passport would see no error, and refuse the request with 401.
    throw new Error(`The verifier of tokens has thrown ${String(error)}`, { cause: error });
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
