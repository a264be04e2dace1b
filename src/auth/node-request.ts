import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** Returns Node's request, of HTTP/1.1 or HTTP/2, which Fastify wraps as `raw`, and Express passes on. */
export function nodeRequest(request: object): IncomingMessage {
  const raw = 'raw' in request && request.raw instanceof Readable ? request.raw : request;
  return raw as IncomingMessage;
}
