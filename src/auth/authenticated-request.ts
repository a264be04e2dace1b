import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { nodeRequest } from '../node-request.js';
import type { Principal, Refusal } from './token-verifier.js';

/** The finding of the guard about a token, for the handler and the log. */
export type Authentication = Accepted | Refused;

interface Accepted {
  readonly principal: Principal;
  readonly refusal?: undefined;
  /** The scopes of the principal and the required one, if it lacks this (error 403). */
  readonly missingScope?: string;
}

interface Refused {
  readonly principal?: undefined;
  readonly missingScope?: undefined;
  /** Why the request gets error 401. */
  readonly refusal: Refusal;
}

const AUTHENTICATION = Symbol('authentication');

/** Node's request after the guard. A WeakMap would do, but every garbage collection would visit all of its entries. */
type AuthenticatedRequest = IncomingMessage & { [AUTHENTICATION]?: Authentication };

export function setAuthentication(request: object, authentication: Authentication): void {
  (nodeRequest(request) as AuthenticatedRequest)[AUTHENTICATION] = authentication;
}

/** Returns an empty object if the guard has not been asked. */
export function authenticationOf(request: object): Partial<Authentication> {
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
