import type { ServerResponse } from 'node:http';
import type { PublicRequest } from './public-request.js';

/** Seconds for which a browser need not ask again; more than two hours are the same to Chromium. */
const MAX_AGE = 7_200;

/**
 * Lets pages of these origins create plants: browsers ask for them, and give an answer to a page only where it says that
 * they may (Fetch standard §3.3). Pages of other origins get what they would get without a browser, which keeps it.
 *
 * @param origins as browsers write them, such as `https://plants.example`
 * @returns whether it is a preflight, which has no token and is to be answered by {@link answerPreflight}
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
