import { METHODS, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { answer } from '../errors/answer.js';
import { ContractException } from '../errors/contract.exception.js';
import { originFormOf } from './message-rules.js';
import type { PublicRequest } from './public-request.js';
import { createPublicServer, type TimeLimits } from './public-server.js';
import { RequestBody } from './request-body.js';

const TIME_LIMITS: TimeLimits = {
  headers: 10_000,
  request: 30_000,
  keepAlive: 72_000,
};

/** Fastify as the public port needs it: bodies as bytes, in the handler's own time, and every answer the contract's. */
export function createFastifyAdapter(options: {
  /** Bytes. */
  readonly bodyLimit: number;
  readonly timeLimits?: Partial<TimeLimits>;
}): FastifyAdapter {
  const adapter = new FastifyAdapter({
    serverFactory: (handle: RequestListener) => createPublicServer(handle, { ...TIME_LIMITS, ...options.timeLimits }),
    // The server has its own; Fastify would add another one.
    clientErrorHandler: () => undefined,
    // The router's own refusals: what is left of them after the rules of the message is a bad path.
    frameworkErrors: (_error: unknown, _request: unknown, reply: { readonly raw: ServerResponse }) =>
      answer(reply.raw, new ContractException(400)),
    rewriteUrl: ({ url = '' }: IncomingMessage) => originFormOf(url),
    // Requests that were accepted are answered, also while the service shuts down.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // No part of this application uses Nest's middleware.
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  for (const method of METHODS) {
    // No body is Fastify's to read, and no method is unknown to the router, so that the guard sees them all.
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  fastify.addHook('onRequest', (request, reply, done) => {
    request.body = new RequestBody(request.raw as PublicRequest, reply.raw, options.bodyLimit);
    done();
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    // Fastify adds a charset, which the media type does not have (RFC 8259 §11).
    reply.header('Content-Type', 'application/json');
    // What is left of the body is not read as a request, and not waited for.
    if (!request.raw.complete) reply.header('Connection', 'close');
    done(null, payload);
  });
  return adapter;
}
