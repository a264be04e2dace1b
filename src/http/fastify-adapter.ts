import { METHODS, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ContractException, type ErrorBody } from '../contract/contract.exception.js';
import type { Certificate } from './certificate.js';
import { toOriginForm, withUtf8Escapes } from './message-rules.js';
import type { PublicRequest } from './public-request.js';
import type { PublicResponse } from './public-response.js';
import { PublicServer } from './public-server.js';
import { DEFAULT_LIMITS, type ServerLimits } from './server-limits.js';
import { WITHOUT_SCHEMAS } from './without-schemas.js';

/** Tells the response why it refuses the request, for the log and the metrics. */
class PublicFastifyAdapter extends FastifyAdapter {
  override reply(...[reply, body, status]: Parameters<FastifyAdapter['reply']>): ReturnType<FastifyAdapter['reply']> {
    if (status === 400 && 'raw' in reply) (reply.raw as PublicResponse).errorBody = body as ErrorBody;
    return super.reply(reply, body, status);
  }

  /** Ignores the middleware of PlantsModule: there is no parser that it must keep away from the body. */
  override use(): this {
    return this;
  }
}

/** An application with this adapter. */
export type PublicApplication = NestFastifyApplication;

/** Creates the Fastify adapter of the public port. Fastify only routes: its parsers and refusals are not used. */
export function createFastifyAdapter(options: {
  readonly limits?: Partial<ServerLimits>;
  /** See {@link PublicServer}. */
  readonly origins?: ReadonlySet<string>;
  readonly certificate?: Certificate | undefined;
  /** Addresses and networks of proxies that are trusted to name the client's address, in the syntax of proxy-addr. */
  readonly trustProxy?: readonly string[];
}): FastifyAdapter {
  const trustProxy = [...(options.trustProxy ?? [])];
  let server: PublicServer | undefined;
  const adapter = new PublicFastifyAdapter({
    serverFactory: (handle: RequestListener): Server => {
      server = new PublicServer(handle, { ...DEFAULT_LIMITS, ...options.limits }, options);
      return server.node as Server;
    },
    trustProxy,
    // The server answers input that is not HTTP.
    clientErrorHandler: () => undefined,
    // `rewriteUrl` leaves nothing that the router refuses; without it, Fastify would answer in its own words.
    frameworkErrors: (_error: unknown, _request: unknown, { raw }: { readonly raw: unknown }) =>
      (raw as PublicResponse).refuse(new ContractException(400)),
    genReqId: (request: unknown) => (request as PublicRequest).id,
    // Without the query, which nothing uses, and whose thousands of names the router would parse for each method.
    rewriteUrl: ({ url = '' }: IncomingMessage) => withUtf8Escapes(toOriginForm(url.replace(/\?.*$/s, ''))),
    // Accepted requests are answered while the service shuts down.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    ...WITHOUT_SCHEMAS,
    // No part of this application uses Nest's middleware.
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  for (const method of METHODS) {
    // The guard runs for every method. Fastify would parse a body before it: BodyPipe reads the body afterwards.
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  fastify.addHook('preClose', async () => server?.drain());
  if (trustProxy.length > 0) {
    fastify.addHook('onRequest', (request, _reply, done) => {
      (request.raw as PublicRequest).forwardedAddress = request.ip;
      done();
    });
  }
  return adapter;
}
