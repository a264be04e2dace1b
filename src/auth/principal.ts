/** Who speaks, as a token verifier knows it. */
export interface Principal {
  /** A name for the log, never the token. */
  readonly name: string;
  /** What the token may do (RFC 6749 §3.3); without scopes it may do everything. */
  readonly scopes?: readonly string[];
  /** The instant from which its token is not valid any more. */
  readonly expires?: Date;
}

const principals = new WeakMap<object, Principal>();

/** Who sent this request, once the guard has let it pass. */
export function principalOf(request: object): Principal | undefined {
  return principals.get(request);
}

/** Notes who sent this request. */
export function setPrincipal(request: object, principal: Principal): void {
  principals.set(request, principal);
}
