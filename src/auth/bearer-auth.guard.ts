import { type ExecutionContext, ForbiddenException, Injectable, UnauthorizedException } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ERROR_TABLE } from '../contract/error-table.js';
import { nodeRequest } from './node-request.js';
import { BearerAuthOptions, isScope } from './bearer-auth-options.js';
import { BearerRequest, STRATEGY, TokenRefused } from './bearer.strategy.js';
import { principalOf, setPrincipal, setRefusal } from './request-principal.js';
import type { Principal } from './token-verifier.js';

interface ScopeRequirement {
  /** Defaults to the scope of the options. */
  readonly scope: string | undefined;
}

/**
 * Requires a scope of tokens that have scopes, for a handler or all of a controller: `RequiresScope('plants:read')`.
 * Without a name, it is the scope of the module's options.
 */
export const RequiresScope = Reflector.createDecorator<string | undefined, ScopeRequirement>({
  transform: (scope: unknown) => {
    if (scope === undefined || (typeof scope === 'string' && isScope(scope))) return { scope };
    throw new TypeError('RequiresScope: the scope must be one word such as plants:read');
  },
});

/** A request of Express or Fastify. */
interface GuardedRequest {
  /**
   * The address of the client, as far as the host lets its framework trust proxies. In the service, it is the peer's: Fastify
   * has no `trustProxy` there, and the log takes the address from `PublicRequest.forwardedAddress`.
   */
  readonly ip?: string;
  /** The place of passport for the principal. */
  user?: unknown;
}

/**
 * Passes requests with a valid token in the Authorization header, and in no other place (RFC 6750 §2.1).
 *
 * Passport is here because the order of this service names `@nestjs/passport` and `passport-http-bearer`: it finds the
 * token in the header, and asks BearerStrategy. The verifiers do not need it.
 */
@Injectable()
export class BearerAuthGuard extends AuthGuard(STRATEGY) {
  readonly #challenge: string;

  constructor(
    private readonly reflector: Reflector,
    private readonly authOptions: BearerAuthOptions,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    super();
    this.#challenge = `Bearer realm="${authOptions.realm}"`;
  }

  /**
   * Passes a request that has a principal with the required scope. AuthGuard (`super.canActivate`) finds the principal:
   *
   * 1. `getRequest` returns what passport sees of the request.
   * 2. passport-http-bearer takes the token from its header. Without one, it goes on with step 4.
   * 3. `BearerStrategy.validate` asks the verifier.
   * 4. `handleRequest` keeps the principal with the request, or refuses the request.
   *
   * @throws {UnauthorizedException} without a valid token
   * @throws {ForbiddenException} if the token lacks the required scope
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.authOptions.hostDecides) return true;
    // The second run for a request finds the principal of the first: in the service, the guard is bound globally and again by
    // PlantsController. A host may also pass the request on to another route, which requires another scope.
    const principal = principalOf(requestOf(context)) ?? (await this.#authenticate(context));
    this.#authorize(context, principal);
    return true;
  }

  /** Lets AuthGuard find the principal. */
  async #authenticate(context: ExecutionContext): Promise<Principal> {
    // AuthGuard returns only `true`, and sets `user` on the BearerRequest, which is thrown away. `handleRequest` has left the
    // principal on the real request.
    await super.canActivate(context);
    const principal = principalOf(requestOf(context));
    // Fails closed: AuthGuard has returned without a call of `handleRequest`.
    if (principal === undefined) throw this.#refuse(context, null);
    return principal;
  }

  /** Returns what passport gets instead of the request. Hosts compile this type, but lack those of passport-http-bearer. */
  override getRequest(context: ExecutionContext): object {
    return new BearerRequest(requestOf(context), this.authOptions.verifier);
  }

  /**
   * Keeps the principal with the request, or refuses the request. `User` is the type that AuthGuard's declaration returns; it
   * is always Principal here.
   *
   * @param error what BearerStrategy has thrown
   * @param principal what it has returned; false if passport has found no token
   * @returns the principal, as AuthGuard requires
   * @throws {UnauthorizedException} without a valid token
   */
  override handleRequest<User>(
    error: Error | null,
    principal: User & (Principal | false),
    _info: unknown,
    context: ExecutionContext,
  ): User {
    const hasVerifierFailed = error !== null && !(error instanceof TokenRefused);
    if (hasVerifierFailed) throw error;
    if (!principal) throw this.#refuse(context, error);
    const request = requestOf(context);
    request.user = principal;
    setPrincipal(request, principal);
    return principal;
  }

  #authorize(context: ExecutionContext, { scopes }: Principal): void {
    // A token without scopes may do everything.
    if (scopes === undefined) return;
    const places = [context.getHandler(), context.getClass()];
    const requirement = this.reflector.getAllAndOverride<ScopeRequirement | undefined>(RequiresScope.KEY, places);
    if (requirement === undefined) return;
    const { scope = this.authOptions.scope } = requirement;
    if (scopes.includes(scope)) return;
    this.#setChallenge(context, `, error="insufficient_scope", scope="${scope}"`);
    throw new ForbiddenException(ERROR_TABLE[403].message);
  }

  /** @param refused null if passport has found no token, or has not called `handleRequest` */
  #refuse(context: ExecutionContext, refused: TokenRefused | null): UnauthorizedException {
    const request = requestOf(context);
    // A challenge names an error only if the client has tried to send a token (RFC 6750 §3).
    const isAttempt = /^bearer +./i.test(nodeRequest(request).headers.authorization ?? '');
    setRefusal(request, {
      reason: refused?.reason ?? (isAttempt ? 'malformed' : 'missing'),
      principal: refused?.holder?.name,
      issuer: refused?.holder?.issuer,
      address: request.ip,
    });
    this.#setChallenge(context, isAttempt ? ', error="invalid_token"' : '');
    return new UnauthorizedException(ERROR_TABLE[401].message);
  }

  /** Sets it here, because Nest's own filter sets no headers: on a host's routes, that one answers. */
  #setChallenge(context: ExecutionContext, error: string): void {
    const response = context.switchToHttp().getResponse<unknown>();
    this.adapterHost.httpAdapter.setHeader(response, 'WWW-Authenticate', `${this.#challenge}${error}`);
  }
}

function requestOf(context: ExecutionContext): GuardedRequest {
  return context.switchToHttp().getRequest();
}
