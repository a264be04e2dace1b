import type { Principal } from './principal.js';

/** Why a token is refused: for the operator, in the log and in the metrics; no client ever learns it. */
export const REFUSALS = [
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
  'forbidden-header',
  'unknown-key',
] as const;

/** One of `REFUSALS`. */
export type Refusal = (typeof REFUSALS)[number];

/** Whose token it is, or why it is refused; undefined is the same as `unknown`. */
export type Verdict = Principal | Refusal | undefined;

/** Decides which tokens are valid: a port, and its own injection token. */
export abstract class TokenVerifier {
  /**
   * @throws {ContractException} 503 where it cannot be decided now; what else is thrown is a defect, answered with 500
   */
  abstract verify(token: string): Verdict | Promise<Verdict>;
}

/** Verifiers side by side: the first that knows a token decides. */
export class TokenVerifiers extends TokenVerifier {
  constructor(private readonly verifiers: readonly TokenVerifier[]) {
    super();
  }

  override async verify(token: string): Promise<Verdict> {
    for (const verifier of this.verifiers) {
      const verdict = await verifier.verify(token);
      if (verdict !== undefined && verdict !== 'unknown') return verdict;
    }
    return 'unknown';
  }
}

/** A token that is not valid. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';

  constructor(readonly reason: Refusal) {
    super(reason);
  }
}

/**
 * Asks a verifier, and holds its answer against the clock.
 *
 * @throws {TokenRefused} when the token is not valid, or not any more
 */
export function principalFor(token: string, verifier: TokenVerifier): Principal | Promise<Principal> {
  // A host's may answer null, whatever its type says.
  const verdict = verifier.verify(token) ?? 'unknown';
  return typeof verdict === 'object' && 'then' in verdict ? verdict.then(accepted) : accepted(verdict);
}

function accepted(given: Verdict): Principal {
  const verdict = given ?? 'unknown';
  if (typeof verdict === 'string') throw new TokenRefused(verdict);
  if (verdict.expires !== undefined && verdict.expires.getTime() <= Date.now()) throw new TokenRefused('expired');
  return verdict;
}
