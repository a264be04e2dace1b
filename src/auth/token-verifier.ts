/** The holder of a valid token. */
export interface Principal {
  /** A name for the log, never the token. */
  readonly name: string;
  /** The scopes of the token (RFC 6749 §3.3); a token without this list may do everything. */
  readonly scopes?: readonly string[];
  /** The instant from which the token is no longer valid. */
  readonly expires?: Date;
}

/** Why a token is refused. Logs and metrics have the reason; a client never learns it. */
export const REFUSAL_REASONS = [
  'malformed',
  'unknown',
  'expired',
  'not-yet-valid',
  'wrong-issuer',
  'wrong-audience',
  'wrong-type',
  'wrong-algorithm',
  'wrong-claim',
  'wrong-signature',
  'unknown-key',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** The principal of a valid token, or the reason for its refusal; undefined means `unknown`. */
export type VerificationResult = Principal | RefusalReason | undefined;

/** Decides which tokens are valid: a port, and its own injection token. */
export abstract class TokenVerifier {
  /** @throws {HttpException} for example ServiceUnavailableException (error 503); anything else is error 500 */
  abstract verify(token: string): VerificationResult | Promise<VerificationResult>;

  /** Nest calls it when the application closes. */
  onApplicationShutdown?(signal?: string): unknown;
}

/** Asks several verifiers in turn; the first that knows the token decides. */
export class TokenVerifiers extends TokenVerifier {
  constructor(private readonly verifiers: readonly TokenVerifier[]) {
    super();
  }

  override onApplicationShutdown(): void {
    for (const verifier of this.verifiers) verifier.onApplicationShutdown?.();
  }

  override async verify(token: string): Promise<Principal | RefusalReason> {
    for (const verifier of this.verifiers) {
      const result = (await verifier.verify(token)) ?? 'unknown';
      if (result !== 'unknown') return result;
    }
    return 'unknown';
  }
}

/** The request that passport sees. Not in bearer.strategy.ts, which needs types of passport that hosts may lack. */
export interface BearerRequest {
  readonly headers: { readonly authorization: string | undefined };
  /** Comes with the request because all applications of the process share the strategy. */
  readonly verifier: TokenVerifier;
}
