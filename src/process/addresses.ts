import type { Configuration } from '../config/configuration.js';

/** The address of the public port. */
export interface Address {
  readonly address: string;
  readonly port: number;
}

/** Returns {base_url} for a client on this machine: a host that stands for all addresses is replaced by loopback. */
export function baseUrlOf(
  { basePath, tlsCertFile }: Pick<Configuration, 'basePath' | 'tlsCertFile'>,
  { address, port }: Address,
): string {
  const scheme = tlsCertFile === undefined ? 'http' : 'https';
  const host = address.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1');
  return `${scheme}://${inUrl(host)}:${port}${basePath}`;
}

/**
 * Returns the origins at which this machine opens the docs page, as browsers write them, its own address first: the host of
 * the management listener, localhost, and the addresses of loopback if it listens on all addresses.
 */
export function docsOrigins(host: string, port: number): readonly string[] {
  const loopback = /^(?:0\.0\.0\.0|::)$/.test(host) ? ['127.0.0.1', '::1'] : [];
  return [host, 'localhost', ...loopback].map((name) => new URL(`http://${inUrl(name)}:${port}`).origin);
}

/** Returns a host as a URL has it: an IPv6 address in brackets. */
function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
