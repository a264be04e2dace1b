import { type ExecutionContext, ForbiddenException, Injectable, UnauthorizedException } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ERROR_TABLE } from '../contract/error-table.js';
import { authenticationOf, nodeRequest, principalOf, setAuthentication } from './authenticated-request.js';
import { BearerRequest, STRATEGY } from './bearer.strategy.js';
import { BearerAuthOptions, isRefusal, type Principal, type Refusal, TokenVerifier } from './token-verifier.js';

/**
 * Requires a scope of tokens that have scopes, for a handler or all of a controller: `RequiresScope('plants:read')`.
 * Without a name, it is the scope of the module's options.
 */
export const RequiresScope = Reflector.createDecorator<string | undefined, string>({
  transform: (scope = '') => scope,
});

/**
 * Passes requests with a valid token in the Authorization header, and in no other place (RFC 6750 §2.1):
 *
 * 1. `getRequest` gives passport a BearerRequest for the request: the Authorization header and the verifier.
 * 2. passport finds the token in the header, and calls `BearerStrategy.validate`, which asks the verifier.
 * 3. passport takes what the verifier returns for its user, even a refusal: of a failure, it would lose the reason.
 * 4. `handleRequest` gets this user: it keeps a principal with the request, and throws at a refusal.
 *
 * The exceptions are Nest's own, because on a host's routes its own filter must answer with 401 and 403. Their cause is
 * the reason, for the log of the host.
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
   * @param error what the verifier has thrown
   * @param result the principal or the refusal, or false if passport finds no token in the header
   * @throws {UnauthorizedException} if the request is refused
   */
  override handleRequest<User>(
    error: Error | null,
    result: User | false,
    _info: unknown,
    context: ExecutionContext,
  ): User {
    if (error) throw error;
    const request = requestOf(context);
    if (result === false) return this.#refuse(context, headerWithoutToken(request));
    if (isRefusal(result)) return this.#refuse(context, result);
    setAuthentication(request, { principal: result as Principal });
    // Users of passport expect the principal there.
    request.user = result;
    return result;
  }

  /** @throws {UnauthorizedException} always */
  #refuse(context: ExecutionContext, refusal: Refusal): never {
    const request = requestOf(context);
    setAuthentication(request, { refusal });
    // Only a client that has sent a bearer token is told that it is invalid (RFC 6750 §3).
    const isInvalid = /^bearer /i.test(authorizationOf(request) ?? '');
    this.#setChallenge(context, isInvalid ? ', error="invalid_token"' : '');
    throw new UnauthorizedException(ERROR_TABLE[401].message, { cause: refusal });
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
    throw new ForbiddenException(ERROR_TABLE[403].message, { cause: missingScope });
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
