import { isIP } from 'node:net';
import type { onRequestHookHandler } from 'fastify';
import type { ManagedService } from './managed-service.js';

const MISDIRECTED =
  'This listener does not answer this Host: use an IP address, or add the name to MANAGEMENT_ALLOWED_HOSTS';

/**
 * Adds the headers of all answers. They keep the docs page from loading anything from other hosts, and from sending them
 * anything, such as a token.
 */
export function addHeaders(service: ManagedService): onRequestHookHandler {
  return (_request, reply, done) => {
    reply.headers(headersFor(service));
    done();
  };
}

function headersFor({ baseUrl }: ManagedService): Readonly<Record<string, string>> {
  const publicOrigin = baseUrl === undefined ? '' : ` ${new URL(baseUrl).origin}`;
  return {
    'Content-Security-Policy':
      `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; ` +
      `connect-src 'self'${publicOrigin}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-cache',
  };
}

/**
 * Refuses requests whose Host header has neither an IP address nor one of these names. This prevents DNS rebinding: an
 * attacker can let the name of a web page resolve to this listener, but the page's requests still carry that name.
 */
export function refuseOtherHosts(allowed: readonly string[]): onRequestHookHandler {
  const names = allowed.map((name) => name.toLowerCase());
  return ({ headers }, reply, done) => {
    if (isAllowedHost(headers.host, names)) done();
    else void reply.code(421).send({ statusCode: 421, error: 'Misdirected Request', message: MISDIRECTED });
  };
}

/**
 * Returns whether a Host header has an IP address or one of these names.
 *
 * @param header may have a port; undefined is allowed, because browsers always send the header
 */
function isAllowedHost(header: string | undefined, names: readonly string[]): boolean {
  if (header === undefined) return true;
  const host = header.toLowerCase().replace(/:\d*$/, '');
  const address = host.replace(/^\[(.*)\]$/, '$1');
  // A full name may end with a dot, as in `localhost.`.
  return isIP(address) !== 0 || names.includes(host.replace(/\.$/, ''));
}
