import { METHODS, type IncomingMessage, type RequestListener } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ContractException, type ErrorBody } from '../contract/contract.exception.js';
import type { Certificate } from './certificate.js';
import { originFormOf, routableFormOf } from './message-rules.js';
import type { PublicRequest } from './public-request.js';
import type { PublicResponse } from './public-response.js';
import { createPublicServer, type ServerLimits } from './public-server.js';

const LIMITS: ServerLimits = { headers: 10_000, request: 30_000, keepAlive: 72_000, connections: 10_000 };

/** Fastify as the public port needs it: bodies as bytes, in the handler's own time, and every answer the contract's. */
export function createFastifyAdapter(options: {
  readonly limits?: Partial<ServerLimits>;
  /** See `createPublicServer`. */
  readonly origins?: ReadonlySet<string>;
  readonly certificate?: Certificate | undefined;
  /** The addresses and networks of proxies whose word on the client's address is taken, as proxy-addr has them. */
  readonly trustProxy?: readonly string[];
}): FastifyAdapter {
  const trustProxy = [...(options.trustProxy ?? [])];
  const adapter = new FastifyAdapter({
    serverFactory: (handle: RequestListener) => createPublicServer(handle, { ...LIMITS, ...options.limits }, options),
    trustProxy,
    // The server has its own; Fastify would add another one.
    clientErrorHandler: () => undefined,
    // The router's own refusals come before the guard, and in its own words. After the rules of the message none is left.
    frameworkErrors: (_error: unknown, _request: unknown, reply: { readonly raw: unknown }) =>
      (reply.raw as PublicResponse).refuse(new ContractException(400)),
    genReqId: (request: unknown) => (request as PublicRequest).id,
    rewriteUrl: ({ url = '' }: IncomingMessage) => routableFormOf(originFormOf(url)),
    // Requests that were accepted are answered, also while the service shuts down.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // No route has a schema, and what compiles them takes long to load.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    // No part of this application uses Nest's middleware.
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  for (const method of METHODS) {
    // No body is Fastify's to read, and no method is unknown to the router, so that the guard sees them all.
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  fastify.addHook('onRequest', (request, reply, done) => {
    if (trustProxy.length > 0) (reply.raw as PublicResponse).address = request.ip;
    done();
  });
  fastify.addHook('preSerialization', (_request, reply, payload: unknown, done) => {
    if (reply.statusCode === 400) (reply.raw as PublicResponse).error = (payload as ErrorBody).error;
    done(null, payload);
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (request.raw.complete) {
      done(null, payload);
      return;
    }
    setImmediate(() => {
      if (!request.raw.complete) (reply.raw as PublicResponse).shouldKeepAlive = false;
      done(null, payload);
    });
  });
  return adapter;
}

function noCompiler(): never {
  throw new Error('The routes of the public port have no schemas');
}
