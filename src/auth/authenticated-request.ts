import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { nodeRequest } from '../node-request.js';
import type { Principal, RefusalReason } from './token-verifier.js';

/** Why the guard has refused a request; also a message of the diagnostics channel. */
export interface AuthenticationRefused {
  readonly reason: RefusalReason | 'missing';
  /** The name of the token's holder, if the token has expired. */
  readonly principal?: string | undefined;
  /** The issuer of the token, if it is a JWT that has expired. */
  readonly issuer?: string | undefined;
  /** The address of the client, if known. */
  readonly address?: string | undefined;
}

/** The diagnostics channel that has one message for each request answered with error 401. */
export const REFUSAL_CHANNEL = 'plant-store:authentication-refused';

const refused = channel(REFUSAL_CHANNEL);

const PRINCIPAL = Symbol('principal');

const REFUSAL = Symbol('refusal');

/**
 * Node's request, with its principal or refusal after the authentication. These are not in a WeakMap, because every garbage
 * collection would visit all of its entries.
 */
type AuthenticatedRequest = IncomingMessage & {
  [PRINCIPAL]?: Principal;
  [REFUSAL]?: AuthenticationRefused;
};

function authenticated(request: object): AuthenticatedRequest {
  return nodeRequest(request);
}

/** Keeps the principal with its request. */
export function setPrincipal(request: object, principal: Principal): void {
  authenticated(request)[PRINCIPAL] = principal;
}

/** Returns the principal of a request that the guard has passed. */
export function principalOf(request: object): Principal | undefined {
  return authenticated(request)[PRINCIPAL];
}

/** Passes the principal of the request; undefined if the host authenticates. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  principalOf(context.switchToHttp().getRequest<object>()),
);

/** Keeps the refusal with its request, for the log line, and publishes it. */
export function setRefusal(request: object, refusal: AuthenticationRefused): void {
  authenticated(request)[REFUSAL] = refusal;
  if (refused.hasSubscribers) refused.publish(refusal);
}

/** Returns why the guard has refused a request; undefined if it has not. */
export function refusalOf(request: object): AuthenticationRefused | undefined {
  return authenticated(request)[REFUSAL];
}
