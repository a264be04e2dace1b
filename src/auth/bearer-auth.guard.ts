import { channel } from 'node:diagnostics_channel';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { ContractException } from '../errors/contract.exception.js';
import { AUTHENTICATION_REFUSED, type AuthenticationRefused } from './authentication-refused.js';
import { attemptsBearer, bearerTokenIn } from './bearer-token.js';
import { STRATEGY } from './bearer.strategy.js';
import { type Principal, principalOf, setPrincipal } from './principal.js';

/** Names the scope that a handler wants of those whose token has scopes at all. */
export const RequiredScope = Reflector.createDecorator<string | undefined>();

const REALM = 'Bearer realm="plants"';

const refusals = channel(AUTHENTICATION_REFUSED);

interface WithHeaders {
  readonly headers: { readonly authorization?: string };
}

/** Lets those pass who have a valid token, taken from the Authorization header alone (RFC 6750 §2.1). */
@Injectable()
export class BearerAuthGuard extends AuthGuard(STRATEGY) {
  constructor(private readonly reflector: Reflector) {
    super();
  }

  /**
   * @throws {ContractException} 401 without a valid token, 403 where the token's scopes lack the required one
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<WithHeaders>();
    // The guard may stand in front of the application and of the controller: once is enough.
    if (principalOf(request) === undefined) await super.canActivate(context);
    const scope = this.reflector.get(RequiredScope, context.getHandler());
    const scopes = principalOf(request)?.scopes;
    if (scope !== undefined && scopes !== undefined && !scopes.includes(scope)) {
      const challenge = `${REALM}, error="insufficient_scope", scope="${scope}"`;
      throw new ContractException(403, undefined, {
        'WWW-Authenticate': challenge,
      });
    }
    return true;
  }

  /** What passport sees of the request: the strategy would take a token from query and body, too. */
  override getRequest(context: ExecutionContext): WithHeaders {
    const token = bearerTokenIn(context.switchToHttp().getRequest<WithHeaders>().headers.authorization);
    return {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    };
  }

  override handleRequest<User extends Principal>(
    error: Error | null,
    principal: User | false,
    _info: unknown,
    context: ExecutionContext,
  ): User {
    if (error) throw error;
    const request = context.switchToHttp().getRequest<WithHeaders>();
    if (!principal) {
      const attempted = attemptsBearer(request.headers.authorization);
      refusals.publish({ reason: attempted ? 'invalid' : 'missing' } satisfies AuthenticationRefused);
      const challenge = attempted ? `${REALM}, error="invalid_token"` : REALM;
      throw new ContractException(401, undefined, {
        'WWW-Authenticate': challenge,
      });
    }
    setPrincipal(request, principal);
    return principal;
  }
}
