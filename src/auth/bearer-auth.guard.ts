import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ContractException } from '../contract/contract.exception.js';
import { BearerAuthOptions, type BearerRequest } from './bearer-auth-options.js';
import { hasBearerCredentials, parseBearerToken } from './bearer-token.js';
import { STRATEGY } from './bearer.strategy.js';
import { type Principal, principalOf, setPrincipal } from './principal.js';
import { publishRefusal } from './refusals.js';
import { TokenRefusedError } from './token-verifier.js';

/** Marks a handler that requires the scope, of tokens that have scopes. */
export const RequiresScope = Reflector.createDecorator<boolean>();

const AUTHORIZATION = 'authorization';

/** A request of Express, or of Fastify, which wraps Node's as `raw`. */
interface GuardedRequest {
  readonly headers: { readonly authorization?: string };
  /** Names and values in turn. */
  readonly rawHeaders?: readonly string[];
  readonly raw?: { readonly rawHeaders: readonly string[] };
  /** The address of the client, as far as trusted proxies tell it. */
  readonly ip?: string;
}

/** Passes requests with a valid token in the Authorization header, and in no other place (RFC 6750 §2.1). */
@Injectable()
export class BearerAuthGuard extends AuthGuard(STRATEGY) {
  readonly #challenge: string;

  constructor(
    private readonly reflector: Reflector,
    private readonly authOptions: BearerAuthOptions,
  ) {
    super();
    this.#challenge = `Bearer realm="${authOptions.realm}"`;
  }

  /** @throws {ContractException} 401 without a valid token, 403 if the token lacks the required scope */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.authOptions.verifier === false) return true;
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    // Bound both globally and to the controller, the guard verifies the token once.
    if (principalOf(request) === undefined) await this.#authenticate(context, request);
    this.#authorize(context, principalOf(request));
    return true;
  }

  /** Runs passport, which calls `getRequest`, the strategy, and `handleRequest`. */
  async #authenticate(context: ExecutionContext, { headers, ip }: GuardedRequest): Promise<void> {
    try {
      await super.canActivate(context);
    } catch (error) {
      const isRefused = error instanceof ContractException && error.error === 401;
      if (isRefused && hasBearerCredentials(headers.authorization)) await this.authOptions.refusalDelay.wait(ip);
      throw error;
    }
  }

  #authorize(context: ExecutionContext, principal: Principal | undefined): void {
    const { scope } = this.authOptions;
    const hasScope = principal?.scopes?.includes(scope) ?? true;
    if (hasScope || !this.reflector.get(RequiresScope, context.getHandler())) return;
    throw new ContractException(403, undefined, {
      'WWW-Authenticate': `${this.#challenge}, error="insufficient_scope", scope="${scope}"`,
    });
  }

  /**
   * Returns a request that has the token and nothing else. passport-http-bearer takes a token only from a request, and
   * would also take it from the query and the body.
   */
  override getRequest(context: ExecutionContext): BearerRequest {
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    const token = hasOneAuthorization(request) ? parseBearerToken(request.headers.authorization) : undefined;
    return {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      verifier: this.authOptions.verifier,
    };
  }

  override handleRequest<User extends Principal>(
    error: Error | null,
    principal: User | false,
    _info: unknown,
    context: ExecutionContext,
  ): User {
    if (error && !(error instanceof TokenRefusedError)) throw error;
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    if (principal) {
      setPrincipal(request, principal);
      return principal;
    }
    const isAttempt = hasBearerCredentials(request.headers.authorization);
    publishRefusal(isAttempt ? (error?.reason ?? 'malformed') : 'missing', request.ip);
    throw new ContractException(401, undefined, {
      'WWW-Authenticate': isAttempt ? `${this.#challenge}, error="invalid_token"` : this.#challenge,
    });
  }
}

/** Node keeps the first of several Authorization headers in `headers`, and all of them in `rawHeaders`. */
function hasOneAuthorization({ raw, rawHeaders = raw?.rawHeaders ?? [] }: GuardedRequest): boolean {
  const isName = (text: string, index: number): boolean =>
    index % 2 === 0 && text.length === AUTHORIZATION.length && text.toLowerCase() === AUTHORIZATION;
  return rawHeaders.filter(isName).length <= 1;
}
