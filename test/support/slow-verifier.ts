import type { Principal } from '../../src/auth/principal.js';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { TOKEN } from './client.js';

/** Takes the token of the tests at once, and another one when the test says so. */
export class SlowVerifier extends TokenVerifier {
  static readonly TOKEN = 'a-token-that-takes-its-time';

  #open: () => void = () => undefined;
  #opened = Promise.resolve();

  /** Makes the requests with the other token wait from now on. */
  shut(): void {
    this.#opened = new Promise((resolve) => (this.#open = resolve));
  }

  /** Lets them go on. */
  open(): void {
    this.#open();
  }

  override async verify(token: string): Promise<Principal | undefined> {
    if (token === SlowVerifier.TOKEN) await this.#opened;
    else if (token !== TOKEN) return undefined;
    return { name: 'tests' };
  }
}

export const SLOW = { authorization: [`Authorization: Bearer ${SlowVerifier.TOKEN}`] };
