import type { Configuration } from '../config/configuration.js';
import type { Address } from '../management/managed-service.js';

/** Returns {base_url} for a client on this machine: a host that stands for all addresses is replaced by loopback. */
export function baseUrlOf(
  { basePath, tlsCertFile }: Pick<Configuration, 'basePath' | 'tlsCertFile'>,
  { address, port }: Address,
): string {
  const scheme = tlsCertFile === undefined ? 'http' : 'https';
  const host = address.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1');
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${basePath}`;
}
