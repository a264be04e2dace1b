import { nodeRequest } from '../node-request.js';
import type { Refusal } from './token-verifier.js';

/**
 * Returns the value of the header Authorization, unless there are two: Node keeps only the first one in `headers`, and both
 * in `rawHeaders`.
 */
export function authorizationOf(request: object): string | undefined {
  return isRepeated(request) ? undefined : nodeRequest(request).headers.authorization;
}

/** Returns whether the client has tried to send a bearer token: only then does a challenge name an error (RFC 6750 §3). */
export function isAttempt(request: object): boolean {
  return /^bearer +./i.test(nodeRequest(request).headers.authorization ?? '');
}

/** Explains a request in whose header passport-http-bearer finds no token. */
export function explainHeader(request: object): Refusal {
  const { authorization } = nodeRequest(request).headers;
  if (authorization === undefined) return { refused: 'missing' };
  if (isRepeated(request)) return { refused: 'malformed', detail: 'there are two Authorization headers' };
  // A longer word may be a token without its scheme.
  const [, scheme] = /^([a-z][\w-]{0,19}) +\S/i.exec(authorization) ?? [];
  if (scheme === undefined || scheme.toLowerCase() === 'bearer') {
    return { refused: 'malformed', detail: 'required: Bearer, a space, and one token' };
  }
  return { refused: 'malformed', detail: `the scheme is ${scheme}, required: Bearer` };
}

function isRepeated(request: object): boolean {
  return nodeRequest(request).rawHeaders.filter(isAuthorization).length > 1;
}

function isAuthorization(text: string, index: number): boolean {
  return index % 2 === 0 && text.length === 13 && text.toLowerCase() === 'authorization';
}
