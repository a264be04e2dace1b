import { type ExecutionContext, ForbiddenException, Injectable } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ERROR_TABLE } from '../contract/error-table.js';
import { authenticationOf, nodeRequest, principalOf, setAuthentication } from './authenticated-request.js';
import { BearerRequest, STRATEGY, unauthorized } from './bearer.strategy.js';
import { BearerAuthOptions, isRefusal, type Principal, type Refusal, TokenVerifier } from './token-verifier.js';

/**
 * Requires a scope of tokens that have scopes, for a handler or all of a controller: `RequiresScope('plants:read')`.
 * Without a name, it is the scope of the module's options.
 */
export const RequiresScope = Reflector.createDecorator<string | undefined, string>({
  transform: (scope = '') => scope,
});

/**
 * Passes requests with a valid token in the Authorization header, and in no other place (RFC 6750 §2.1): passport finds
 * the token in the BearerRequest of `getRequest`, and lets BearerStrategy validate it. `handleRequest` gets the result.
 */
@Injectable()
export class BearerAuthGuard extends AuthGuard(STRATEGY) {
  constructor(
    private readonly reflector: Reflector,
    private readonly authOptions: BearerAuthOptions,
    private readonly verifier: TokenVerifier,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    super();
  }

  /**
   * @throws {UnauthorizedException} without a valid token
   * @throws {ForbiddenException} if the token lacks the required scope
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.authOptions.hostDecides) return true;
    const request = requestOf(context);
    // In the service, the guard runs globally, and again for PlantsController.
    if (hasPassed(request)) return true;
    await super.canActivate(context);
    const principal = principalOf(request);
    if (principal === undefined) return false;
    this.#assertScope(context, principal);
    return true;
  }

  /** Its type is `object`, because a host that compiles it may lack the types of passport-http-bearer. */
  override getRequest(context: ExecutionContext): object {
    return new BearerRequest(authorizationOf(requestOf(context)), this.verifier);
  }

  /**
   * Keeps the principal with the request, or the reason of its refusal.
   *
   * @param error what BearerStrategy has thrown
   * @param principal what it has returned, or false if passport finds no token in the header
   * @throws {UnauthorizedException} without a valid token
   */
  override handleRequest<User>(
    error: Error | null,
    principal: User | false,
    _info: unknown,
    context: ExecutionContext,
  ): User {
    const request = requestOf(context);
    if (error || principal === false) {
      const failure = error ?? unauthorized(headerWithoutToken(request));
      if (isRefusal(failure.cause)) this.#noteRefusal(context, failure.cause);
      throw failure;
    }
    setAuthentication(request, { principal: principal as Principal });
    // Users of passport expect the principal there.
    request.user = principal;
    return principal;
  }

  /** Keeps the reason for the log, and sets the challenge. */
  #noteRefusal(context: ExecutionContext, refusal: Refusal): void {
    const request = requestOf(context);
    setAuthentication(request, { refusal });
    // Only a client that has sent a bearer token is told that it is invalid (RFC 6750 §3).
    const isInvalid = /^bearer /i.test(authorizationOf(request) ?? '');
    this.#setChallenge(context, isInvalid ? ', error="invalid_token"' : '');
  }

  /** @throws {ForbiddenException} if the principal lacks the scope that the handler or its controller requires */
  #assertScope(context: ExecutionContext, principal: Principal): void {
    const places = [context.getHandler(), context.getClass()];
    const required = this.reflector.getAllAndOverride<string | undefined>(RequiresScope.KEY, places);
    const { scopes } = principal;
    if (scopes === 'all' || required === undefined) return;
    const scope = required === '' ? this.authOptions.scope : required;
    if (scopes.includes(scope)) return;
    const missingScope = `the scopes are "${scopes.join(' ')}", required: "${scope}"`;
    setAuthentication(requestOf(context), { principal, missingScope });
    this.#setChallenge(context, `, error="insufficient_scope", scope="${scope}"`);
    throw new ForbiddenException(ERROR_TABLE[403].message, { cause: missingScope, description: 'Forbidden' });
  }

  /** Sets the header here: a host's filter sets no headers. */
  #setChallenge(context: ExecutionContext, error: string): void {
    const response = context.switchToHttp().getResponse<unknown>();
    const challenge = `Bearer realm="${this.authOptions.realm}"${error}`;
    this.adapterHost.httpAdapter.setHeader(response, 'WWW-Authenticate', challenge);
  }
}

function requestOf(context: ExecutionContext): { user?: unknown } {
  return context.switchToHttp().getRequest();
}

/** Returns whether an earlier run of the guard has passed the request. */
function hasPassed(request: object): boolean {
  const { principal, missingScope } = authenticationOf(request);
  return principal !== undefined && missingScope === undefined;
}

function authorizationOf(request: object): string | undefined {
  return nodeRequest(request).headers.authorization;
}

/**
 * Returns why passport finds no token in the header. The log must not quote it: it may be a token without its scheme.
 */
function headerWithoutToken(request: object): Refusal {
  if (authorizationOf(request) === undefined) return { refused: 'missing' };
  return { refused: 'malformed', detail: 'required: Bearer, a space, and one token' };
}
