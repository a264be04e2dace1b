import { isIP } from 'node:net';

/**
 * Decides which Host headers the management listener answers, against DNS rebinding: the name of a page in a browser may
 * come to resolve to this address, but the page's requests still carry that name. An IP address cannot be rebound.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  /** @param names host names, besides `localhost` and all IP addresses */
  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  }

  /** @param host the header, whose port does not matter; no browser leaves it out */
  allow(host: string | undefined): boolean {
    if (host === undefined) return true;
    const name = host.toLowerCase().replace(/:\d*$/, '');
    return this.#names.has(name.replace(/\.$/, '')) || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  }
}
