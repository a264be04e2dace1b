import { channel } from 'node:diagnostics_channel';
import { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Principal, RefusalReason, TokenVerifier } from './token-verifier.js';

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

/** The authentication of one request. It is pending at first, and has a principal or a refusal in the end. */
export class Authentication {
  principal: Principal | undefined;
  refusal: AuthenticationRefused | undefined;

  /** @param verifier comes with the request, because all applications of the process share the strategy */
  constructor(readonly verifier: TokenVerifier) {}
}

/**
 * What passport gets in place of a request. Passport writes to it, under a name that a host may have chosen (`property`
 * of PassportModule), so it is neither the request nor its authentication.
 */
export class BearerRequest {
  /** @param headers the only header that may have a token (RFC 6750 §2.1) */
  constructor(
    readonly headers: { readonly authorization: string | undefined },
    readonly authentication: Authentication,
  ) {}
}

const AUTHENTICATION = Symbol('authentication');

/** Node's request; not a WeakMap, because each garbage collection visits all entries of those. */
interface Authenticated {
  [AUTHENTICATION]?: Authentication;
}

/** Keeps the authentication with its request. */
export function setAuthentication(request: object, authentication: Authentication): void {
  nodeRequest(request)[AUTHENTICATION] = authentication;
}

export function authenticationOf(request: object): Authentication | undefined {
  return nodeRequest(request)[AUTHENTICATION];
}

/** Returns the principal of a request that the guard has passed. Until then, the request waits for its verifier. */
export function principalOf(request: object): Principal | undefined {
  return authenticationOf(request)?.principal;
}

/** Passes the principal of the request; undefined if the host authenticates. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  principalOf(context.switchToHttp().getRequest<object>()),
);

/** Returns why the guard has refused a request; undefined if it has not. */
export function refusalOf(request: object): AuthenticationRefused | undefined {
  return authenticationOf(request)?.refusal;
}

/** Keeps the refusal with its request, for the log line, and publishes it. */
export function setRefusal(request: object, refusal: AuthenticationRefused): void {
  const authentication = authenticationOf(request);
  if (authentication !== undefined) authentication.refusal = refusal;
  if (refused.hasSubscribers) refused.publish(refusal);
}

/** Returns Node's request, which Fastify wraps and Express passes on. */
function nodeRequest(request: object): Authenticated {
  const raw: object = 'raw' in request && request.raw instanceof IncomingMessage ? request.raw : request;
  return raw;
}
