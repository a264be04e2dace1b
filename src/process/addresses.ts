import type { Configuration } from '../config/configuration.js';
import { OperatorError } from '../operator-error.js';

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
function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Advice about the errors of `listen`, by their codes. */
const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use: is the service already running? Otherwise, set another port',
  EACCES: 'this user may not use the port: set one from 1024 on',
  EADDRNOTAVAIL: 'set an address of this machine',
  ENOTFOUND: 'the host name cannot be resolved: set an address of this machine',
  EAI_AGAIN: 'the host name cannot be resolved at the moment: try again, or set an address of this machine',
};

/** Explains an error of the system that refuses an address, and names its variables. Returns other errors as they are. */
export function addressError(variables: string, address: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const code = String(error.code);
  const advice = ADVICE[code] ?? 'set an address of this machine, and a port that is free';
  return new OperatorError(`${variables}: cannot listen on ${address} (${code}): ${advice}`, { cause: error });
}
