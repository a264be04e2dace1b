import type { ServerResponse } from 'node:http';
import type { PublicRequest } from './public-request.js';

/** Seconds for which a browser caches a preflight; Chromium caps them at two hours. */
const MAX_AGE = 7_200;

/**
 * Allows pages of these origins to create plants (CORS, Fetch standard §3.3). Requests of other origins are answered as
 * usual, and the browser withholds the answer from the page.
 *
 * @param origins as browsers write them, such as `https://plants.example`
 * @returns true for a preflight, which has no token: answer it with {@link answerPreflight}
 */
export function allowOrigin(request: PublicRequest, response: ServerResponse, origins: ReadonlySet<string>): boolean {
  const { headers, method } = request;
  if (headers.origin === undefined || !origins.has(headers.origin)) return false;
  response.setHeader('Access-Control-Allow-Origin', headers.origin);
  response.setHeader('Vary', 'Origin');
  response.setHeader('Access-Control-Expose-Headers', 'Retry-After, WWW-Authenticate, X-Request-Id');
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

export function answerPreflight(response: ServerResponse): void {
  response
    .writeHead(204, {
      'Access-Control-Allow-Methods': 'POST',
      'Access-Control-Allow-Headers': 'authorization, content-type, x-request-id',
      'Access-Control-Max-Age': MAX_AGE,
    })
    .end();
}
