import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { nodeRequest } from '../node-request.js';
import type { Authentication } from './authenticated-request.js';
import { isBearerToken, type Principal, type Refusal, REFUSAL_REASONS, type TokenVerifier } from './token-verifier.js';

/** The name in passport's registry, which the process shares: a host may use `bearer` itself. */
export const STRATEGY = 'plant-store-bearer';

const HEADER = 'authorization';

/** Schemes that clients send by mistake. The log must not name any other word: it may be a token without its scheme. */
const OTHER_SCHEME = /^(basic|digest|dpop|negotiate|ntlm|token|apikey) /i;

/** Shows passport the Authorization header alone: it would also take tokens from the query and the body (RFC 6750 §2.1). */
export class BearerRequest {
  readonly headers: { readonly authorization: string | undefined };

  /** @param verifier passed with the request, because all applications of the process share the strategy */
  constructor(
    request: object,
    readonly verifier: TokenVerifier,
  ) {
    // Without a header, passport refuses the request.
    const authorization = hasTwoHeaders(request) ? undefined : nodeRequest(request).headers.authorization;
    // RFC 6750 §2.1 allows several spaces after the scheme, but passport-http-bearer only one.
    this.headers = { authorization: authorization?.replace(/ {2,}/, ' ') };
  }
}

/** Hands the token of a request to the verifier. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /**
   * Returns the finding about a token as passport's user, also if it is a refusal: of a failure, passport would keep only a
   * message, and not its reason. Returns false to another guard than BearerAuthGuard.
   *
   * @throws what the verifier throws, or a TypeError if it returns anything but a VerificationResult
   */
  async validate(request: unknown, token: string): Promise<Authentication | false> {
    if (!(request instanceof BearerRequest)) return false;
    if (!isBearerToken(token)) return { refusal: { refused: 'malformed', detail: 'no token has such characters' } };
    const result: unknown = (await request.verifier.verify(token)) ?? { refused: 'unknown' };
    if (isRefusal(result)) return { refusal: result };
    if (isPrincipal(result)) return { principal: result };
    throw new TypeError('TokenVerifier.verify must return a principal with name and scopes, a refusal, or undefined');
  }
}

// A host's verifier may be in JavaScript, and so return anything.

function isRefusal(result: unknown): result is Refusal {
  return REFUSAL_REASONS.some((reason) => reason === (result as Refusal).refused);
}

function isPrincipal(result: unknown): result is Principal {
  const { name, scopes } = result as Principal;
  return typeof name === 'string' && (scopes === 'all' || Array.isArray(scopes));
}

/** Explains a request in whose header passport-http-bearer finds no token. */
export function explainHeader(request: object): Refusal {
  const { authorization } = nodeRequest(request).headers;
  if (authorization === undefined) return { refused: 'missing' };
  if (hasTwoHeaders(request)) return { refused: 'malformed', detail: 'there are two Authorization headers' };
  const [, scheme] = OTHER_SCHEME.exec(authorization) ?? [];
  if (scheme === undefined) return { refused: 'malformed', detail: 'required: Bearer, a space, and one token' };
  return { refused: 'malformed', detail: `the scheme is ${scheme}, required: Bearer` };
}

/** Returns whether the client has tried to send a bearer token: only then does a challenge name an error (RFC 6750 §3). */
export function isAttempt(request: object): boolean {
  return /^bearer /i.test(nodeRequest(request).headers.authorization ?? '');
}

/** Returns whether there are two headers Authorization: `headers` has the first one, and `rawHeaders` both. */
function hasTwoHeaders(request: object): boolean {
  return nodeRequest(request).rawHeaders.filter(isHeaderName).length > 1;
}

function isHeaderName(text: string, index: number): boolean {
  // The length costs less than the comparison.
  return index % 2 === 0 && text.length === HEADER.length && text.toLowerCase() === HEADER;
}
