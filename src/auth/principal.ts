import { IncomingMessage } from 'node:http';

/** The holder of a valid token. */
export interface Principal {
  /** A name for the log, never the token. */
  readonly name: string;
  /** The scopes of the token (RFC 6749 §3.3); a token without this list may do everything. */
  readonly scopes?: readonly string[];
  /** The instant from which the token is no longer valid. */
  readonly expires?: Date;
}

/** A property of Node's request rather than a WeakMap, because each garbage collection visits all entries of those. */
const PRINCIPAL = Symbol('principal');

/** The authority that verified the token; each instance of the guard has its own. */
const AUTHORITY = Symbol('authority');

interface Authenticated {
  [PRINCIPAL]?: Principal;
  [AUTHORITY]?: object;
}

/** Returns the principal of a request that the guard has passed. */
export function principalOf(request: object): Principal | undefined {
  return unwrap(request)[PRINCIPAL];
}

/** Returns whether the principal of the request, if it has one, comes from this authority. */
export function isPrincipalOf(authority: object, request: object): boolean {
  return unwrap(request)[AUTHORITY] === authority;
}

/** Sets the principal of a request; `request.user` is the place where passport puts it. */
export function setPrincipal(request: object & { user?: unknown }, principal: Principal, authority: object): void {
  request.user = principal;
  const own = unwrap(request);
  own[PRINCIPAL] = principal;
  own[AUTHORITY] = authority;
}

/** Returns Node's request, which Fastify wraps and Express passes on. */
function unwrap(request: object): Authenticated {
  const own: object = 'raw' in request && request.raw instanceof IncomingMessage ? request.raw : request;
  return own;
}
