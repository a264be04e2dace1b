import { METHODS, type IncomingMessage, type Server } from 'node:http';
import { isIP } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import proxyAddress from '@fastify/proxy-addr';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ContractException } from '../contract/contract.exception.js';
import type { WithoutBodyParsers } from '../plants/unparsed-body.js';
import type { PublicHandler } from './connection/client-connection.js';
import { allowOrigin, answerPreflight, isPreflight } from './message/cross-origin.js';
import { findRefusal } from './message/message-rules.js';
import type { PublicRequest } from './message/public-request.js';
import type { PublicResponse } from './message/public-response.js';
import { PublicServer } from './connection/public-server.js';
import { toRouterPath } from './message/request-target.js';
import { DEFAULT_LIMITS, type ServerLimits } from './server-limits.js';
import { WITHOUT_SCHEMAS } from './without-schemas.js';

class PublicFastifyAdapter extends FastifyAdapter implements WithoutBodyParsers {
  readonly hasBodyParsers = false;

  /** Sends answers of routes and filters through {@link PublicResponse.answer}, like all other answers. */
  override reply(...[reply, body, status]: Parameters<FastifyAdapter['reply']>): ReturnType<FastifyAdapter['reply']> {
    // Nest's type also allows Node's response, which no part of this application passes.
    if (!('hijack' in reply)) throw new TypeError('The reply is not one of Fastify');
    const response = reply.raw as PublicResponse;
    response.answer({ status: status ?? reply.statusCode, body: body as object, headers: reply.getHeaders() });
    // A hijacked reply counts as sent: if it were hijacked earlier, an object that is no JSON could not become error 500.
    reply.hijack();
    return reply;
  }

  /** @throws {TypeError} for `app.use` */
  override use(): never {
    return refuseMiddleware();
  }

  /** @throws {TypeError} for a MiddlewareConsumer */
  override createMiddlewareFactory(): never {
    return refuseMiddleware();
  }
}

/** Refuses middleware: without middie (see `skipMiddie`), Fastify runs none. */
function refuseMiddleware(): never {
  throw new TypeError('The service runs no middleware: add a hook of Fastify in createFastifyAdapter');
}

/** An application with this adapter. Rooms outside of http/ do not import Nest's platform. */
export type PublicApplication = NestFastifyApplication;

interface AdapterOptions {
  readonly limits?: Partial<ServerLimits>;
  /** The origins whose pages may send requests, see {@link allowOrigin}. */
  readonly origins?: ReadonlySet<string>;
  readonly certificate?: SecureContextOptions | undefined;
  /** Addresses and networks of proxies that are trusted to name the client's address, in the syntax of proxy-addr. */
  readonly trustProxy?: readonly string[];
}

/** Creates the Fastify adapter of the public port. Fastify only routes: its parsers, answers and refusals are not used. */
export function createFastifyAdapter({
  limits,
  origins = new Set(),
  certificate,
  trustProxy = [],
}: AdapterOptions): FastifyAdapter {
  const isTrusted = proxyAddress.compile([...trustProxy]);
  const server = new PublicServer({ ...DEFAULT_LIMITS, ...limits }, certificate);
  const adapter = new PublicFastifyAdapter({
    serverFactory: (route: PublicHandler) =>
      server.createNodeServer(createHandler(route, origins, isTrusted)) as Server,
    // The server answers input that is not HTTP.
    clientErrorHandler: () => undefined,
    // Answers a URL that the router refuses, instead of Fastify. `rewriteUrl` should leave none.
    frameworkErrors: (_error: unknown, _request: unknown, { raw }: { readonly raw: unknown }) => {
      (raw as PublicResponse).refuse(new ContractException(400));
    },
    genReqId: (request: unknown) => (request as PublicRequest).id,
    rewriteUrl: ({ url = '' }: IncomingMessage) => toRouterPath(url),
    // The service still answers accepted requests while it shuts down.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    ...WITHOUT_SCHEMAS,
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  for (const method of METHODS) {
    // The guard runs for every method, but Fastify would parse a body before the guard. NewPlantPipe reads the body.
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  fastify.addHook('preClose', () => server.drain());
  return adapter;
}

/** Returns the handler of the public port, which refuses violations of HTTP, answers preflights, and routes the rest. */
function createHandler(
  route: PublicHandler,
  origins: ReadonlySet<string>,
  isTrusted: ReturnType<typeof proxyAddress.compile>,
): PublicHandler {
  return (request, response) => {
    // A client may claim any text in X-Forwarded-For, if a proxy adds nothing to it.
    const address = proxyAddress(request, isTrusted);
    request.clientAddress = isIP(address) === 0 ? request.socket.remoteAddress : address;
    const { origin } = request.headers;
    const isAllowed = origin !== undefined && origins.has(origin);
    if (isAllowed) allowOrigin(response, origin);
    const refusal = findRefusal(request);
    if (refusal !== undefined) response.refuse(refusal);
    else if (isAllowed && isPreflight(request)) answerPreflight(response);
    else route(request, response);
  };
}
