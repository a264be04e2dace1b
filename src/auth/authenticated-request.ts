import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { nodeRequest } from '../node-request.js';
import type { Principal, Refusal } from './token-verifier.js';

/** The findings of the guard about a request, for the handler and the log: a principal, or a refusal. */
export interface Authentication extends Partial<Refusal> {
  /** The holder of the token, if it is valid. `detail` then says which scope it lacks (error 403), if any. */
  readonly principal?: Principal;
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

/** Returns the principal of a request that the guard has passed. */
export function principalOf(request: object): Principal | undefined {
  return authenticationOf(request).principal;
}

/** Passes the principal of the request; undefined if the host authenticates. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  principalOf(context.switchToHttp().getRequest<object>()),
);
