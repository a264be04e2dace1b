import type { Principal } from './principal.js';

/** Decides which tokens are valid: a port, and its own injection token. */
export abstract class TokenVerifier {
  /** @returns whose token it is, or undefined where it is not a valid one */
  abstract verify(token: string): Principal | undefined | Promise<Principal | undefined>;
}
