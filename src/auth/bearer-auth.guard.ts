import { type ExecutionContext, ForbiddenException, Injectable, UnauthorizedException } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ERROR_TABLE } from '../contract/error-table.js';
import { principalOf, setPrincipal, setRefusal } from './authenticated-request.js';
import { BearerAuthOptions, isScope } from './bearer-auth-options.js';
import { BearerRequest, STRATEGY } from './bearer.strategy.js';
import { nodeRequest } from '../node-request.js';
import { ExpiredToken, type Principal, type RefusalReason, type VerificationResult } from './token-verifier.js';

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
  /** The client's address, according to the host's framework. The service logs `clientAddress` of PublicRequest instead. */
  readonly ip?: string;
  /** The principal, where users of passport expect it. */
  user?: unknown;
}

/**
 * Passes requests with a valid token in the Authorization header, and in no other place (RFC 6750 §2.1).
 *
 * This service is required to use `@nestjs/passport` and `passport-http-bearer`. `canActivate` calls that of AuthGuard,
 * which takes these steps:
 *
 * 1. `getRequest` returns a BearerRequest, which passport gets instead of the request.
 * 2. passport-http-bearer takes the token from the header. If there is no token, step 4 gets `false`.
 * 3. `BearerStrategy.validate` returns the result of the verifier.
 * 4. `handleRequest` gets the result, or the error of the verifier. It keeps the principal with the request, or throws.
 * 5. AuthGuard sets `user` on the BearerRequest, which nothing reads, and returns true.
 * 6. `canActivate` reads the principal that step 4 has kept: only this proves that it has run.
 *
 * The exceptions are Nest's own, because on a host's routes its own filter must answer with 401 and 403.
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
   * @throws {UnauthorizedException} without a valid token
   * @throws {ForbiddenException} if the token lacks the required scope
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.authOptions.hostDecides) return true;
    const request = requestOf(context);
    // In the service, the guard is bound globally and again by PlantsController: the second run finds the principal of the
    // first. A host may also pass the request on to another route, which requires another scope.
    if (principalOf(request) === undefined) await super.canActivate(context);
    const principal = principalOf(request);
    if (principal === undefined) this.#refuse(context);
    this.#authorize(context, principal);
    return true;
  }

  /** The return type is `object`, because a host that compiles it may lack the types of passport-http-bearer. */
  override getRequest(context: ExecutionContext): object {
    return new BearerRequest(requestOf(context), this.authOptions.verifier);
  }

  /**
   * @param error what the verifier has thrown
   * @param result false if there is no token that passport can read
   * @returns the principal; AuthGuard declares its type as `User`
   */
  override handleRequest<User>(
    error: Error | null,
    result: User & (VerificationResult | false),
    _info: unknown,
    context: ExecutionContext,
  ): User {
    if (error) throw error;
    if (!result) this.#refuse(context);
    if (typeof result === 'string') this.#refuse(context, result);
    if (result instanceof ExpiredToken) this.#refuse(context, 'expired', result.holder);
    const request = requestOf(context);
    request.user = result;
    setPrincipal(request, result);
    return result;
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

  /**
   * Notes the reason for the log, and sets the challenge.
   *
   * @param reason undefined if there is no token that passport can read
   * @param holder the holder of a token that has expired
   * @throws {UnauthorizedException} always
   */
  #refuse(context: ExecutionContext, reason?: RefusalReason, holder?: Principal): never {
    const request = requestOf(context);
    // A challenge names an error only if the client has tried to send a token (RFC 6750 §3).
    const isAttempt = /^bearer +./i.test(nodeRequest(request).headers.authorization ?? '');
    setRefusal(request, {
      reason: reason ?? (isAttempt ? 'malformed' : 'missing'),
      principal: holder?.name,
      issuer: holder?.issuer,
      address: request.ip,
    });
    this.#setChallenge(context, isAttempt ? ', error="invalid_token"' : '');
    throw new UnauthorizedException(ERROR_TABLE[401].message);
  }

  /** Sets the header here: a host's filter sets no headers. */
  #setChallenge(context: ExecutionContext, error: string): void {
    const response = context.switchToHttp().getResponse<unknown>();
    this.adapterHost.httpAdapter.setHeader(response, 'WWW-Authenticate', `${this.#challenge}${error}`);
  }
}

function requestOf(context: ExecutionContext): GuardedRequest {
  return context.switchToHttp().getRequest();
}
