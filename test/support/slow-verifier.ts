import { type Principal, TokenVerifier } from '../../src/auth/token-verifier.js';
import { TOKEN } from './client.js';

/** Accepts TOKEN immediately, and another token after `open` is called. */
export class SlowVerifier extends TokenVerifier {
  static readonly TOKEN = 'a-slow-token';

  #open: () => void = () => undefined;
  #opened = Promise.resolve();

  /** Delays requests with the slow token from now on. */
  shut(): void {
    this.#opened = new Promise((resolve) => (this.#open = resolve));
  }

  /** Accepts the slow token, also in the requests that wait. */
  open(): void {
    this.#open();
  }

  override async verify(token: string): Promise<Principal | undefined> {
    if (token === SlowVerifier.TOKEN) await this.#opened;
    else if (token !== TOKEN) return undefined;
    return { name: 'tests' };
  }
}

/** The parts of a request with the slow token. */
export const SLOW = { authorization: [`Authorization: Bearer ${SlowVerifier.TOKEN}`] };
