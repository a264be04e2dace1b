import { nodeRequest } from '../node-request.js';
import type { TokenVerifier } from './token-verifier.js';

/**
 * What passport gets instead of the request, where it would also find tokens in the query and the body (RFC 6750 §2.1).
 * Passport and Nest write to it. Hosts compile its types, so it needs none of passport-http-bearer.
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
