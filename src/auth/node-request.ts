import { IncomingMessage } from 'node:http';

/** Returns Node's request, which Fastify wraps as `raw`, and Express passes on. */
export function nodeRequest(request: object): IncomingMessage {
  return 'raw' in request && request.raw instanceof IncomingMessage ? request.raw : (request as IncomingMessage);
}
