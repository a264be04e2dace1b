import { IncomingMessage } from 'node:http';

/** Who speaks, as a token verifier knows it. */
export interface Principal {
  /** A name for the log, never the token. */
  readonly name: string;
  /** What the token may do (RFC 6749 §3.3); without scopes it may do everything. */
  readonly scopes?: readonly string[];
  /** The instant from which its token is not valid any more. */
  readonly expires?: Date;
}

/** Where Node's own request has it: for a WeakMap, each collection of garbage would look at all of them. */
const PRINCIPAL = Symbol('principal');

interface Authenticated {
  [PRINCIPAL]?: Principal;
}

/** Who sent this request, once the guard has let it pass. */
export function principalOf(request: object): Principal | undefined {
  return nodesOwn(request)[PRINCIPAL];
}

/** Notes who sent this request. */
export function setPrincipal(request: object, principal: Principal): void {
  nodesOwn(request)[PRINCIPAL] = principal;
}

/** Of Fastify's, which is around it; Express's is Node's own. */
function nodesOwn(request: object): Authenticated {
  const own: object = 'raw' in request && request.raw instanceof IncomingMessage ? request.raw : request;
  return own;
}
