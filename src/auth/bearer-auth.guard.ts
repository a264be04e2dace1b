import { type ExecutionContext, ForbiddenException, Injectable, UnauthorizedException } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ERROR_TABLE } from '../contract/error-table.js';
import { principalOf, setPrincipal, setRefusal } from './authentication.js';
import { BearerAuthOptions } from './bearer-auth-options.js';
import { STRATEGY } from './bearer.strategy.js';
import type { BearerRequest, Principal, RefusalReason, TokenVerifier } from './token-verifier.js';

/** Marks a handler, or all of a controller, that requires the scope, of tokens that have scopes. */
export const RequiresScope = Reflector.createDecorator<boolean>();

/** A request of Express, or of Fastify, which wraps Node's as `raw`. */
interface GuardedRequest {
  readonly headers: { readonly authorization?: string };
  /** Names and values in turn. */
  readonly rawHeaders?: readonly string[];
  readonly raw?: { readonly rawHeaders: readonly string[] };
  /** The address of the client, as far as trusted proxies tell it. */
  readonly ip?: string;
}

/**
 * Passes requests with a valid token in the Authorization header, and in no other place (RFC 6750 §2.1).
 *
 * The verifiers do not need passport: the requirements name AuthGuard and passport-http-bearer. The calls in order:
 * canActivate → getRequest → passport → BearerStrategy.validate → handleRequest.
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
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    // Bound both globally and to the controller, the guard runs once.
    if (this.authOptions.verifier === false || principalOf(request) !== undefined) return true;
    await super.canActivate(context);
    this.#authorize(context, principalOf(request));
    return true;
  }

  /**
   * Returns a request that has the header and nothing else: passport-http-bearer would also take a token from the query
   * and the body.
   */
  override getRequest(context: ExecutionContext): BearerRequest {
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    return {
      // RFC 6750 §2.1 allows several spaces behind the scheme, and passport-http-bearer one.
      headers: { authorization: authorizationOf(request)?.replace(/ {2,}/, ' ') },
      // canActivate has returned if it is false.
      verifier: this.authOptions.verifier as TokenVerifier,
    };
  }

  override handleRequest<User extends Principal>(
    error: Error | null,
    result: User | RefusalReason | false,
    _info: unknown,
    context: ExecutionContext,
  ): User {
    if (error) throw error;
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    const principal = typeof result === 'object' ? result : undefined;
    // A verifier may return a principal that it remembers.
    const isExpired = principal?.expires !== undefined && principal.expires.getTime() <= Date.now();
    if (principal !== undefined && !isExpired) {
      setPrincipal(request, principal);
      return principal;
    }
    // A challenge names an error only if the client has tried to send a token (RFC 6750 §3).
    const isAttempt = /^bearer +./i.test(request.headers.authorization ?? '');
    const reason = isExpired ? 'expired' : typeof result === 'string' ? result : isAttempt ? 'malformed' : 'missing';
    setRefusal(request, { reason, principal: principal?.name, address: request.ip });
    this.#setChallenge(context, isAttempt ? ', error="invalid_token"' : '');
    throw new UnauthorizedException(ERROR_TABLE[401].message);
  }

  #authorize(context: ExecutionContext, principal: Principal | undefined): void {
    const { scope } = this.authOptions;
    if (principal?.scopes?.includes(scope) ?? true) return;
    const isRequired = this.reflector.getAllAndOverride(RequiresScope, [context.getHandler(), context.getClass()]);
    if (!isRequired) return;
    this.#setChallenge(context, `, error="insufficient_scope", scope="${scope}"`);
    throw new ForbiddenException(ERROR_TABLE[403].message);
  }

  /** Sets it here, because Nest's own filter sets no headers: on a host's routes, that one answers. */
  #setChallenge(context: ExecutionContext, error: string): void {
    const response = context.switchToHttp().getResponse<unknown>();
    this.adapterHost.httpAdapter.setHeader(response, 'WWW-Authenticate', `${this.#challenge}${error}`);
  }
}

/**
 * Returns the value of the header, unless there are two. Without `joinDuplicateHeaders`, Node keeps only the first one
 * in `headers`; `rawHeaders` has both.
 */
function authorizationOf({ headers, raw, rawHeaders = raw?.rawHeaders ?? [] }: GuardedRequest): string | undefined {
  return rawHeaders.filter(isAuthorization).length > 1 ? undefined : headers.authorization;
}

function isAuthorization(text: string, index: number): boolean {
  return index % 2 === 0 && text.length === 13 && text.toLowerCase() === 'authorization';
}
