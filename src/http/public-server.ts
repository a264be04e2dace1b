import { channel } from 'node:diagnostics_channel';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import { ContractException } from '../contract/contract.exception.js';
import type { Connections } from './connections.js';

/** The limits of the public port: times in milliseconds, and connections. */
export interface ServerLimits {
  /** For a request to arrive, from its first byte to its last. */
  readonly request: number;
  /** Between two requests of a connection, which then closes without an answer. */
  readonly keepAlive: number;
  /** Maximum open connections. Further ones are closed without an answer. */
  readonly connections: number;
}

/**
 * Milliseconds for a TLS handshake, and for the headers of a request, from the opening of the connection or the first
 * byte.
 */
const HEADERS_TIMEOUT = 10_000;

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
  const headersTimeout = Math.min(HEADERS_TIMEOUT, limits.request);
  const options: ServerOptions = {
    headersTimeout,
    requestTimeout: limits.request,
    keepAliveTimeout: limits.keepAlive,
    connectionsCheckingInterval: Math.min(1_000, Math.ceil(headersTimeout / 2)),
    // The onRequest hook checks the header: Node's refusal would not be that of the contract.
    requireHostHeader: false,
    // Joins two Authorization or Host headers into an invalid one; Node would drop the second.
    joinDuplicateHeaders: true,
  };
  const server =
    certificate === undefined
      ? createServer(options, handler)
      : createTlsServer({ ...options, ...certificate, handshakeTimeout: headersTimeout }, handler);
  server.maxConnections = limits.connections;
  reportDrops(server);
  // NewPlantPipe refuses the expectation, after the token.
  server.on('checkExpectation', handler);
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
