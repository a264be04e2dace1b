import { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';

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

interface Authenticated {
  [PRINCIPAL]?: Principal;
}

/** Returns the principal of a request that the guard has passed. */
export function principalOf(request: object): Principal | undefined {
  return (nodeRequest(request) as Authenticated)[PRINCIPAL];
}

/** Sets the principal of a request; `request.user` is the place where passport puts it. */
export function setPrincipal(request: object & { user?: unknown }, principal: Principal): void {
  request.user = principal;
  (nodeRequest(request) as Authenticated)[PRINCIPAL] = principal;
}

/** Passes the principal of the request; undefined if the host authenticates. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  principalOf(context.switchToHttp().getRequest<object>()),
);

/** Returns Node's request, which Fastify wraps and Express passes on. */
export function nodeRequest(request: object): object {
  return 'raw' in request && request.raw instanceof IncomingMessage ? request.raw : request;
}
