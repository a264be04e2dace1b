import { randomUUID } from 'node:crypto';
import { type IncomingMessage, METHODS, type RequestListener } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ContractException } from '../contract/contract.exception.js';
import { refuse, writeAnswer } from './answer.js';
import { Connections } from './connections.js';
import { allowOrigin } from './cross-origin.js';
import { createPublicServer, type ServerLimits } from './public-server.js';

/** Matches `example.org:3000` and `[::1]`: RFC 9110 §4.2, without user information. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d*)?$/i;

/** Matches a request target with a path: `/plants`, or `http://example.org/plants` (RFC 9112 §3.2.2). */
const WITH_PATH = /^(?:https?:\/\/[^/?]*)?\//i;

/** The message for a request without a valid Host. */
export const INVALID_HOST = 'Send one Host header with a valid host (RFC 9112 §3.2).';

export interface AdapterOptions {
  readonly limits: ServerLimits;
  /** The origins whose pages may send requests, see {@link allowOrigin}. */
  readonly origins?: ReadonlySet<string>;
  readonly certificate?: SecureContextOptions | undefined;
  /** Addresses and networks of proxies that are trusted to name the client's address. */
  readonly trustProxy?: readonly string[];
}

/** Nest's adapter without middleware, and with the answers of answer.ts. */
class PublicFastifyAdapter extends FastifyAdapter {
  /**
   * Ignores all middleware, for which Fastify would need a plugin that acts on each request (`skipMiddie`): add a hook
   * instead. PlantsModule adds middleware to every application, to hide bodies from parsers; this one has no parsers.
   */
  override use(): this {
    return this;
  }

  /** Sends the answers of routes and filters. */
  override reply(...[reply, body, status]: Parameters<FastifyAdapter['reply']>): FastifyReply {
    // Nest's type also allows Node's response, which no part of this application passes.
    const fastifyReply = reply as FastifyReply;
    writeAnswer(fastifyReply, status ?? fastifyReply.statusCode, body as object);
    return fastifyReply;
  }
}

/** Creates the Fastify adapter of the public port. */
export function createFastifyAdapter({
  limits,
  origins = new Set(),
  certificate,
  trustProxy = [],
}: AdapterOptions): FastifyAdapter {
  const connections = new Connections();
  const adapter = new PublicFastifyAdapter({
    serverFactory: (handler: RequestListener) => createPublicServer(handler, connections, limits, certificate),
    clientErrorHandler: (error: Error, socket: Socket) => connections.refuseInput(error, socket),
    // A request target that the router cannot read.
    frameworkErrors: (_error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
      connections.note(reply);
      refuse(reply, new ContractException(400));
    },
    // Nest answers other targets, such as `*`, before the guard. The slash makes them paths that do not exist.
    rewriteUrl: ({ url = '' }) => (WITH_PATH.test(url) ? url : `/${url}`),
    requestIdHeader: 'x-request-id',
    genReqId: () => randomUUID(),
    trustProxy: trustProxy.length > 0 && [...trustProxy],
    // Nothing uses the query.
    routerOptions: { querystringParser: () => ({}) },
    // The service still answers requests while it stops.
    return503OnClosing: false,
    // Closes idle connections, when the answers in flight are taken.
    forceCloseConnections: true,
    // Fastify would give up the stop after ten seconds. SHUTDOWN_TIMEOUT limits it.
    pluginTimeout: 0,
    exposeHeadRoutes: false,
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  for (const method of METHODS) {
    // The guard runs for every method, but Fastify would parse a body before the guard. NewPlantPipe reads the body.
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  fastify.addHook('onRequest', (request, reply, done) => {
    // The connection has had its last answer, such as error 408 for this request, whose rest came later.
    if (!request.raw.socket.writable) return;
    connections.note(reply);
    const isPreflight = allowOrigin(request, reply, origins);
    if (!hasValidHost(request.raw)) refuse(reply, new ContractException(400, INVALID_HOST));
    else if (isPreflight) writeAnswer(reply, 204);
    else done();
  });
  fastify.addHook('preClose', async () => {
    // Stops listening, and no more. The `close` of node:http would also destroy each connection whose answer was
    // written but not sent yet, and would no longer enforce REQUEST_TIMEOUT. Fastify calls it after this hook, and
    // ignores its error ERR_SERVER_NOT_RUNNING.
    NetServer.prototype.close.call(fastify.server);
    await connections.close();
  });
  return adapter;
}

/** Returns whether a request has one valid Host, which HTTP/1.1 requires (RFC 9112 §3.2). Node does not validate it. */
function hasValidHost({ headers: { host }, httpVersion }: IncomingMessage): boolean {
  // Node joins repeated headers to `a, b`, which is not a valid host.
  return host === undefined ? httpVersion === '1.0' : HOST.test(host);
}
