import { METHODS, type IncomingMessage, type RequestListener } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ContractException } from '../errors/contract.exception.js';
import { Admission } from './admission.js';
import type { Certificate } from './certificate.js';
import { originFormOf, routableFormOf } from './message-rules.js';
import type { PublicRequest } from './public-request.js';
import type { PublicResponse } from './public-response.js';
import { createPublicServer } from './public-server.js';
import { RequestBody } from './request-body.js';
import { DEFAULT_LIMITS, type ServerLimits } from './server-limits.js';
import { WITHOUT_SCHEMAS } from './without-schemas.js';

/** Fastify as the public port needs it: bodies as bytes, in the handler's own time, and every answer the contract's. */
export function createFastifyAdapter(options: {
  /** Bytes. */
  readonly bodyLimit: number;
  readonly limits?: Partial<ServerLimits>;
  /** See `createPublicServer`. */
  readonly origins?: ReadonlySet<string>;
  readonly certificate?: Certificate | undefined;
  /** The addresses and networks of proxies whose word on the client's address is taken, as proxy-addr has them. */
  readonly trustProxy?: readonly string[];
}): FastifyAdapter {
  const trustProxy = [...(options.trustProxy ?? [])];
  const adapter = new FastifyAdapter({
    serverFactory: (handle: RequestListener) =>
      createPublicServer(handle, { ...DEFAULT_LIMITS, ...options.limits }, options),
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
    ...WITHOUT_SCHEMAS,
    // No part of this application uses Nest's middleware.
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  for (const method of METHODS) {
    // No body is Fastify's to read, and no method is unknown to the router, so that the guard sees them all.
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  const admission = new Admission(options.bodyLimit);
  fastify.addHook('onRequest', (request, reply, done) => {
    request.body = new RequestBody(request.raw as PublicRequest, reply.raw, options.bodyLimit, admission);
    if (trustProxy.length > 0) (reply.raw as PublicResponse).address = request.ip;
    done();
  });
  fastify.decorateReply('answer', answer);
  return adapter;
}

/** What Fastify has around ours. */
interface Around {
  readonly raw: unknown;
  readonly request: { readonly raw: { readonly complete: boolean }; readonly body?: unknown };
  hijack(): unknown;
}

/** Answers past Fastify, whose hooks and headers nothing here needs. */
function answer(this: Around, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  this.hijack();
  const { request } = this;
  const response = this.raw as PublicResponse;
  (request.body as RequestBody).release();
  if (request.raw.complete) {
    response.answer(status, headers, body);
    return;
  }
  // The parser may be in the middle of a packet that has the rest of the body, and requests after it.
  setImmediate(() => {
    // What is left of the body is not read as a request, and not waited for; Node says so in the answer.
    if (!request.raw.complete) response.shouldKeepAlive = false;
    response.answer(status, headers, body);
  });
}
