import type { Configuration } from '../config/configuration.js';

/** The address of the public port. */
export interface Address {
  readonly address: string;
  readonly port: number;
}

/** The hosts that stand for all addresses, each with the loopback address of its protocol. */
const LOOPBACK: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Returns {base_url} for a client on this machine. */
export function baseUrlOf(
  { basePath, tlsCertFile }: Pick<Configuration, 'basePath' | 'tlsCertFile'>,
  { address, port }: Address,
): string {
  const scheme = tlsCertFile === undefined ? 'http' : 'https';
  return `${scheme}://${inUrl(reachable(address))}:${port}${basePath}`;
}

/** Returns the URL of the management listener for a browser on this machine. */
export function managementUrlOf(host: string, port: number): string {
  return originOf(reachable(host), port);
}

/**
 * Returns the origins at which this machine opens the docs page, as browsers write them: the host of the management
 * listener, localhost, and the addresses of loopback if it listens on all addresses.
 *
 * @param port of the management listener
 */
export function docsOrigins(host: string, port: number | 'off'): readonly string[] {
  if (port === 'off') return [];
  const loopback = LOOPBACK.has(host) ? LOOPBACK.values() : [];
  return [host, 'localhost', ...loopback].map((name) => originOf(name, port));
}

/** Returns a host that this machine can connect to. */
function reachable(host: string): string {
  return LOOPBACK.get(host) ?? host;
}

function originOf(host: string, port: number): string {
  return new URL(`http://${inUrl(host)}:${port}`).origin;
}

/** Returns a host as a URL has it: an IPv6 address in brackets. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
