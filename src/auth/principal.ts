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

/** The options of the guard that verified the token; each instance of the guard has its own. */
const VERIFIED_BY = Symbol('verified by');

interface Authenticated {
  [PRINCIPAL]?: Principal;
  [VERIFIED_BY]?: object;
}

/** Returns the principal of a request that the guard has passed. */
export function principalOf(request: object): Principal | undefined {
  return (nodeRequest(request) as Authenticated)[PRINCIPAL];
}

/** Returns whether a guard with these options has passed the request. */
export function wasVerifiedBy(options: object, request: object): boolean {
  return (nodeRequest(request) as Authenticated)[VERIFIED_BY] === options;
}

/** Sets the principal of a request; `request.user` is the place where passport puts it. */
export function setPrincipal(request: object & { user?: unknown }, principal: Principal, options: object): void {
  request.user = principal;
  const own: Authenticated = nodeRequest(request);
  own[PRINCIPAL] = principal;
  own[VERIFIED_BY] = options;
}

/** Returns Node's request, which Fastify wraps and Express passes on. */
export function nodeRequest(request: object): object {
  return 'raw' in request && request.raw instanceof IncomingMessage ? request.raw : request;
}
