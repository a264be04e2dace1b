import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ContractException } from '../errors/contract.exception.js';
import { Authentication, type Credentials } from './authentication.js';
import { attemptsBearer, bearerTokenIn } from './bearer-token.js';
import { STRATEGY } from './bearer.strategy.js';
import { type Principal, principalOf, setPrincipal } from './principal.js';
import { publishRefusal } from './refusals.js';
import { TokenRefused } from './token-verifier.js';

/** Marks a handler that wants the scope of those whose token has scopes at all. */
export const RequiresScope = Reflector.createDecorator<boolean>();

const AUTHORIZATION = 'authorization';

interface WithHeaders {
  readonly headers: { readonly authorization?: string };
  /** Names and values in turn, as they came. */
  readonly rawHeaders?: readonly string[];
  /** Node's own request, where the framework has another one around it. */
  readonly raw?: { readonly rawHeaders: readonly string[] };
  /** Whom the server takes for the client. */
  readonly ip?: string;
}

/** Lets those pass who have a valid token, taken from the Authorization header alone (RFC 6750 §2.1). */
@Injectable()
export class BearerAuthGuard extends AuthGuard(STRATEGY) {
  constructor(
    private readonly reflector: Reflector,
    private readonly authentication: Authentication,
  ) {
    super();
  }

  /**
   * @throws {ContractException} 401 without a valid token, 403 where the token's scopes lack the required one
   */
  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.authentication.verifier === false) return true;
    const request = context.switchToHttp().getRequest<WithHeaders>();
    const principal = principalOf(request);
    // The guard may stand in front of the application and of the controller: once is enough.
    return principal === undefined ? this.#authenticate(context, request) : this.#authorize(context, principal);
  }

  async #authenticate(context: ExecutionContext, request: WithHeaders): Promise<boolean> {
    try {
      await super.canActivate(context);
    } catch (error) {
      const failed = error instanceof ContractException && error.error === 401;
      if (failed && attemptsBearer(request.headers.authorization)) await this.authentication.delay.after(request.ip);
      throw error;
    }
    return this.#authorize(context, principalOf(request));
  }

  #authorize(context: ExecutionContext, principal: Principal | undefined): true {
    const { scope } = this.authentication;
    if (principal?.scopes?.includes(scope) === false && this.reflector.get(RequiresScope, context.getHandler())) {
      const challenge = `${this.#challenge}, error="insufficient_scope", scope="${scope}"`;
      throw new ContractException(403, undefined, {
        'WWW-Authenticate': challenge,
      });
    }
    return true;
  }

  /** What passport sees of the request: the strategy would take a token from query and body, too. */
  override getRequest(context: ExecutionContext): Credentials {
    const request = context.switchToHttp().getRequest<WithHeaders>();
    const token = isRepeated(request) ? undefined : bearerTokenIn(request.headers.authorization);
    return {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      verifier: this.authentication.verifier,
    };
  }

  override handleRequest<User extends Principal>(
    error: Error | null,
    principal: User | false,
    _info: unknown,
    context: ExecutionContext,
  ): User {
    if (error && !(error instanceof TokenRefused)) throw error;
    const request = context.switchToHttp().getRequest<WithHeaders>();
    if (!principal) {
      const attempted = attemptsBearer(request.headers.authorization);
      publishRefusal(attempted ? (error?.reason ?? 'malformed') : 'missing', request.ip);
      const challenge = attempted ? `${this.#challenge}, error="invalid_token"` : this.#challenge;
      throw new ContractException(401, undefined, {
        'WWW-Authenticate': challenge,
      });
    }
    setPrincipal(request, principal);
    return principal;
  }

  get #challenge(): string {
    return `Bearer realm="${this.authentication.realm}"`;
  }
}

/** Whether there are two Authorization headers: a host's server keeps the first, and says nothing of the other. */
function isRepeated({ raw, rawHeaders = raw?.rawHeaders ?? [] }: WithHeaders): boolean {
  const given = rawHeaders.filter(
    (text, index) => index % 2 === 0 && text.length === AUTHORIZATION.length && text.toLowerCase() === AUTHORIZATION,
  );
  return given.length > 1;
}
