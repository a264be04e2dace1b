import { type ExecutionContext, ForbiddenException, Injectable, UnauthorizedException } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ERROR_TABLE } from '../contract/error-table.js';
import {
  Authentication,
  authenticationOf,
  BearerRequest,
  principalOf,
  refusalOf,
  setAuthentication,
  setRefusal,
} from './authentication.js';
import { BearerAuthOptions, isScope } from './bearer-auth-options.js';
import { STRATEGY } from './bearer.strategy.js';
import type { Principal, TokenVerifier } from './token-verifier.js';

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

/** A request of Express, or of Fastify, which wraps Node's as `raw`. */
interface GuardedRequest {
  readonly headers: { readonly authorization?: string };
  /** Names and values in turn. */
  readonly rawHeaders?: readonly string[];
  readonly raw?: { readonly rawHeaders: readonly string[] };
  /** The address of the client, as far as trusted proxies tell it. */
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
   * @throws {UnauthorizedException} without a valid token
   * @throws {ForbiddenException} if the token lacks the required scope
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const { verifier } = this.authOptions;
    if (verifier === false) return true;
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    // The service binds the guard globally, and PlantsController binds it again.
    const principal = principalOf(request) ?? (await this.#authenticate(context, request, verifier));
    this.#authorize(context, principal);
    return true;
  }

  async #authenticate(context: ExecutionContext, request: GuardedRequest, verifier: TokenVerifier): Promise<Principal> {
    setAuthentication(request, new Authentication(verifier));
    // Passport calls BearerStrategy.validate, unless the header has no token.
    await super.canActivate(context);
    const principal = principalOf(request);
    if (principal === undefined) throw this.#refuse(context, request);
    request.user = principal;
    return principal;
  }

  /** From the request itself, passport-http-bearer would also take a token in the query or the body. */
  override getRequest(context: ExecutionContext): BearerRequest | undefined {
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    // RFC 6750 §2.1 allows several spaces behind the scheme, and passport-http-bearer one.
    const authorization = authorizationOf(request)?.replace(/ {2,}/, ' ');
    const authentication = authenticationOf(request);
    return authentication && new BearerRequest({ authorization }, authentication);
  }

  /** Returns what the strategy has returned, where Nest's own method would throw without a challenge. */
  override handleRequest<User>(error: Error | null, user: User): User {
    if (error) throw error;
    return user;
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

  #refuse(context: ExecutionContext, request: GuardedRequest): UnauthorizedException {
    // A challenge names an error only if the client has tried to send a token (RFC 6750 §3).
    const isAttempt = /^bearer +./i.test(request.headers.authorization ?? '');
    // Passport did not ask the strategy if there is no refusal yet.
    const refusal = refusalOf(request) ?? { reason: isAttempt ? 'malformed' : 'missing' };
    setRefusal(request, { ...refusal, address: request.ip });
    this.#setChallenge(context, isAttempt ? ', error="invalid_token"' : '');
    return new UnauthorizedException(ERROR_TABLE[401].message);
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
