import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Principal, Refusal } from './token-verifier.js';

/** The findings of the guard about a request, for the handler and the log. */
export interface Authentication {
  /** The holder of the token, if it is valid. */
  readonly principal?: Principal;
  /** Why the request gets error 401. */
  readonly refusal?: Refusal;
  /** The scopes of the principal and the required one, if it lacks this (error 403). */
  readonly missingScope?: string;
}

const AUTHENTICATION = Symbol('authentication');

/** Node's request after the guard. A WeakMap would do, but every garbage collection would visit all of its entries. */
type AuthenticatedRequest = IncomingMessage & { [AUTHENTICATION]?: Authentication };

export function setAuthentication(request: object, authentication: Authentication): void {
  (nodeRequest(request) as AuthenticatedRequest)[AUTHENTICATION] = authentication;
}

/** Returns an empty object if the guard has not been asked. */
export function authenticationOf(request: object): Authentication {
  return (nodeRequest(request) as AuthenticatedRequest)[AUTHENTICATION] ?? {};
}

/** Returns the holder of the token, if the guard has found it valid. */
export function principalOf(request: object): Principal | undefined {
  return authenticationOf(request).principal;
}

/** Passes the principal of the request; undefined if the host authenticates. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  principalOf(context.switchToHttp().getRequest<object>()),
);

/** Returns Node's request, of HTTP/1.1 or HTTP/2: Fastify wraps it as `raw`, and Express passes it on. */
export function nodeRequest(request: object): IncomingMessage {
  const raw = 'raw' in request && request.raw instanceof Readable ? request.raw : request;
  return raw as IncomingMessage;
}
