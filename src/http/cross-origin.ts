import type { FastifyReply, FastifyRequest } from 'fastify';

/** Seconds for which a browser caches the answer to a preflight; Chromium's maximum. */
const MAX_AGE = 7_200;

/**
 * Adds the CORS headers to the answer, if the request comes from a page of an allowed origin. Without them, a browser
 * hides the answer from the page (Fetch standard §3.3).
 *
 * @returns true if the request is a preflight of such a page: the browser asks if the page may send another request
 */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, origins: ReadonlySet<string>): boolean {
  const { headers, method } = request;
  const { origin } = headers;
  if (origin === undefined || !origins.has(origin)) return false;
  reply.headers({
    'access-control-allow-origin': origin,
    vary: 'Origin',
    'access-control-expose-headers': 'Retry-After, WWW-Authenticate, X-Request-Id',
  });
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  reply.headers({
    'access-control-allow-methods': 'POST',
    // Tools of monitoring add headers of their own in the browser, such as `baggage`.
    'access-control-allow-headers': headers['access-control-request-headers'] ?? 'authorization, content-type',
    'access-control-max-age': MAX_AGE,
  });
  return true;
}
