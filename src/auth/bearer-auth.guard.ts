import { type ExecutionContext, ForbiddenException, Injectable, UnauthorizedException } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ERROR_TABLE } from '../contract/error-table.js';
import { type Authentication, principalOf, setAuthentication } from './authenticated-request.js';
import { BearerRequest, explainHeader, isAttempt, STRATEGY } from './bearer.strategy.js';
import { BearerAuthOptions, type Principal, type Refusal, TokenVerifier } from './token-verifier.js';

/**
 * Requires a scope of tokens that have scopes, for a handler or all of a controller: `RequiresScope('plants:read')`.
 * Without a name, it is the scope of the module's options.
 */
export const RequiresScope = Reflector.createDecorator<string | undefined, string>({
  transform: (scope = '') => scope,
});

/**
 * Passes requests with a valid token in the Authorization header, and in no other place (RFC 6750 §2.1).
 *
 * The exceptions are Nest's own, because on a host's routes its own filter must answer with 401 and 403. Their cause is the
 * reason, for the log of the host.
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
    // In the service, the guard is bound globally and again by PlantsController: the second run finds the principal of the
    // first, and only checks the scope.
    if (principalOf(request) === undefined) await super.canActivate(context);
    const principal = principalOf(request);
    if (principal === undefined) return false;
    this.#assertScope(context, principal);
    return true;
  }

  /** The return type is `object`, because a host that compiles it may lack the types of passport-http-bearer. */
  override getRequest(context: ExecutionContext): object {
    return new BearerRequest(requestOf(context), this.verifier);
  }

  /**
   * Keeps the finding about the token with the request.
   *
   * @param error what the verifier has thrown
   * @param found passport's user: what the strategy has returned, or false if passport finds no token
   * @throws {UnauthorizedException} if the request is refused
   */
  override handleRequest<Found>(
    error: Error | null,
    found: Found | false,
    _info: unknown,
    context: ExecutionContext,
  ): Found {
    if (error) throw error;
    const request = requestOf(context);
    if (found === false) return this.#refuse(context, explainHeader(request));
    const { principal, refusal } = found as Authentication;
    if (refusal !== undefined) return this.#refuse(context, refusal);
    setAuthentication(request, { principal });
    // Users of passport expect the principal there.
    request.user = principal;
    return found;
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

  /** @throws {UnauthorizedException} always */
  #refuse(context: ExecutionContext, refusal: Refusal): never {
    const request = requestOf(context);
    setAuthentication(request, { refusal });
    this.#setChallenge(context, isAttempt(request) ? ', error="invalid_token"' : '');
    throw new UnauthorizedException(ERROR_TABLE[401].message, { cause: refusal });
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
