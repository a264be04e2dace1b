import { channel } from 'node:diagnostics_channel';
import { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Principal, RefusalReason } from './token-verifier.js';

/** Why the guard has refused a request; also a message of the diagnostics channel. */
export interface AuthenticationRefused {
  readonly reason: RefusalReason | 'missing';
  /** The name of the token's holder, if the token has expired. */
  readonly principal?: string | undefined;
  /** The address of the client, if known. */
  readonly address?: string | undefined;
}

/** The diagnostics channel that has one message for each request answered with error 401. */
export const REFUSAL_CHANNEL = 'plant-store:authentication-refused';

const refused = channel(REFUSAL_CHANNEL);

const PRINCIPAL = Symbol('principal');
const REFUSAL = Symbol('refusal');

/** Node's request; not a WeakMap, because each garbage collection visits all entries of those. */
interface Authenticated {
  [PRINCIPAL]?: Principal;
  [REFUSAL]?: AuthenticationRefused;
}

/** Returns the principal of a request that the guard has passed. */
export function principalOf(request: object): Principal | undefined {
  return nodeRequest(request)[PRINCIPAL];
}

/** Sets the principal of a request; `request.user` is the place where passport puts it. */
export function setPrincipal(request: object & { user?: unknown }, principal: Principal): void {
  request.user = principal;
  nodeRequest(request)[PRINCIPAL] = principal;
}

/** Passes the principal of the request; undefined if the host authenticates. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  principalOf(context.switchToHttp().getRequest<object>()),
);

/** Returns why the guard has refused a request; undefined if it has not. */
export function refusalOf(request: object): AuthenticationRefused | undefined {
  return nodeRequest(request)[REFUSAL];
}

/** Keeps the refusal with its request, for the log line, and publishes it. */
export function setRefusal(request: object, refusal: AuthenticationRefused): void {
  nodeRequest(request)[REFUSAL] = refusal;
  if (refused.hasSubscribers) refused.publish(refusal);
}

/** Returns Node's request, which Fastify wraps and Express passes on. */
function nodeRequest(request: object): Authenticated {
  const raw: object = 'raw' in request && request.raw instanceof IncomingMessage ? request.raw : request;
  return raw;
}
