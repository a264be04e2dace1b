import { isIP } from 'node:net';

/**
 * Returns whether the management listener answers a Host header: one with an IP address or one of these names. This is
 * against DNS rebinding: the name of a page in a browser may come to resolve to this listener, but the requests of the
 * page still carry that name.
 *
 * @param header its port does not matter; no browser leaves it out
 */
export function isAllowedHost(header: string | undefined, names: readonly string[]): boolean {
  if (header === undefined) return true;
  const host = header.toLowerCase().replace(/:\d*$/, '');
  const address = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(address) !== 0 || names.includes(host.replace(/\.$/, ''));
}
