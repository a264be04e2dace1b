import { channel } from 'node:diagnostics_channel';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import { ContractException } from '../contract/contract.exception.js';
import type { Connections } from './connections.js';
import type { ServerLimits } from './server-limits.js';

/** The diagnostics channel with one message for every connection that is dropped because of MAX_CONNECTIONS. */
export const DROP_CHANNEL = 'plant-store:connection-dropped';

/** Milliseconds between two lines of the log about dropped connections. */
const DROP_LOG_INTERVAL = 60_000;

const logger = new Logger('PlantStore');
const drops = channel(DROP_CHANNEL);

/** Creates Node's HTTP server or, with a certificate, its HTTPS server. */
export function createPublicServer(
  handler: RequestListener,
  connections: Connections,
  limits: ServerLimits,
  certificate: SecureContextOptions | undefined,
): Server {
  const headersTimeout = Math.min(limits.headers, limits.request);
  const options: ServerOptions = {
    headersTimeout,
    requestTimeout: limits.request,
    keepAliveTimeout: limits.keepAlive,
    connectionsCheckingInterval: Math.min(1_000, Math.ceil(headersTimeout / 2)),
    // message-rules.ts checks the header: Node's refusal would not be that of the contract.
    requireHostHeader: false,
    // Joins two Authorization or Host headers into an invalid one; Node would drop the second.
    joinDuplicateHeaders: true,
  };
  const server =
    certificate === undefined
      ? createServer(options, handler)
      : createTlsServer({ ...options, ...certificate, handshakeTimeout: headersTimeout }, handler);
  connections.open(server);
  // Node also counts the time in which a client waits for the service. A late head or body gets error 408 before that.
  server.setTimeout(2 * limits.request, (socket) => {
    if (!connections.isAwaited(socket)) socket.destroy();
  });
  server.maxConnections = limits.connections;
  reportDrops(server);
  // NewPlantPipe refuses the expectation, after the token.
  server.on('checkExpectation', handler);
  server.on('checkContinue', (request, response) => {
    // Something begins to read the body, or to discard it behind an answer.
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    handler(request, response);
  });
  server.on('connect', (_request, socket) => {
    // Node has removed its own listener, and reads no longer.
    socket.on('error', () => undefined).resume();
    connections.end(socket as Socket, new ContractException(400));
  });
  return server;
}

/** Counts the connections that Node drops because of `maxConnections`, and tells the operator at most once a minute. */
function reportDrops(server: Server): void {
  let loggedAt = -Infinity;
  server.on('drop', () => {
    drops.publish({});
    if (performance.now() - loggedAt < DROP_LOG_INTERVAL) return;
    loggedAt = performance.now();
    logger.warn(`New connections are closed without an answer: MAX_CONNECTIONS (${server.maxConnections}) are open`);
  });
}
