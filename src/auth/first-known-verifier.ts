import { TokenVerifier, type VerificationResult } from './token-verifier.js';

/** Asks several verifiers in turn: the first that knows the token decides. It passes on Nest's hooks, which only it gets. */
export class FirstKnownVerifier extends TokenVerifier {
  constructor(private readonly verifiers: readonly TokenVerifier[]) {
    super();
  }

  override async onModuleInit(): Promise<void> {
    for (const verifier of this.verifiers) await verifier.onModuleInit?.();
  }

  override async onApplicationShutdown(): Promise<void> {
    for (const verifier of this.verifiers) await verifier.onApplicationShutdown?.();
  }

  override async verify(token: string): Promise<VerificationResult> {
    for (const verifier of this.verifiers) {
      const result = await verifier.verify(token);
      if (result !== undefined) return result;
    }
    return undefined;
  }
}
