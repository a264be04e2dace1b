import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PublicResponse } from './public-response.js';

/** Seconds for which a browser caches the answer to a preflight; Chromium's maximum. */
const MAX_AGE = 7_200;

/** Adds the CORS headers to an answer. Without them, a browser hides the answer from the page (Fetch standard §3.3). */
export function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Vary', 'Origin');
  response.setHeader('Access-Control-Expose-Headers', 'Retry-After, WWW-Authenticate, X-Request-Id');
}

/** Returns whether the request is a preflight: a browser asks if a page may send another request. */
export function isPreflight({ headers, method }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Answers a preflight. */
export function answerPreflight(response: PublicResponse): void {
  response.answer({
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': 'POST',
      'Access-Control-Allow-Headers': 'authorization, content-type, traceparent, tracestate, x-request-id',
      'Access-Control-Max-Age': MAX_AGE,
    },
    answersPreflight: true,
  });
}
