import { OperatorError } from '../operator-error.js';

/** The hosts that stand for all addresses, each with the loopback address of its protocol. */
const LOOPBACK: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Returns the origin of a listener for a client on this machine, such as `http://127.0.0.1:3000`. */
export function originOf(scheme: 'http' | 'https', host: string, port: number): string {
  return `${scheme}://${inUrl(LOOPBACK.get(host) ?? host)}:${port}`;
}

/**
 * Returns the origins at which this machine opens the docs page, as browsers write them: the host of the management
 * listener, localhost, and the addresses of loopback if it listens on all addresses.
 *
 * @param port of the management listener
 */
export function docsOrigins(host: string, port: number): readonly string[] {
  const hosts = LOOPBACK.has(host) ? ['localhost', ...LOOPBACK.values()] : ['localhost', host];
  // Browsers leave out the default port, and write host names in small letters.
  return hosts.map((name) => new URL(originOf('http', name, port)).origin);
}

/** Explains an error of the system that refuses an address, and names its variables. Returns other errors as they are. */
export function explainListenError(variables: string, host: string, port: number, error: unknown): unknown {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  const advice =
    code === 'EADDRINUSE'
      ? 'is the service already running? Otherwise, set another port'
      : 'set an address of this machine, and a port that this user may use';
  const message = `${variables}: cannot listen on ${inUrl(host)}:${port} (${code}): ${advice}`;
  return new OperatorError(message, { cause: error });
}

/** Returns a host as a URL has it: an IPv6 address in brackets. */
function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
