import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { onRequestHookHandler } from 'fastify';

/**
 * Limits the connections of a server. A connection beyond the limit closes the one that has been idle for longest, so that
 * idle connections never keep a probe out. `server.maxConnections` would close the new connection.
 */
export function limitConnections(server: Server, limit: number): void {
  /** The connections in the order of their last requests, oldest first. One without a request counts from its beginning. */
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    const [longestIdle] = connections;
    if (longestIdle !== undefined && connections.size >= limit) {
      connections.delete(longestIdle);
      longestIdle.destroy();
    }
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', ({ socket }) => {
    connections.delete(socket);
    connections.add(socket);
  });
}

/**
 * Closes a connection that sends a request before the last request is answered. Only an attack pipelines here: each request
 * that waits would hold a whole answer in memory. `server.maxRequestsPerSocket` would end each connection after one answer,
 * and does not count requests of HTTP/1.0.
 */
export function refusePipelining(): onRequestHookHandler {
  /** Connections whose request is not answered yet. */
  const busy = new WeakSet<Socket>();
  return ({ raw: { socket } }, reply, done) => {
    if (busy.has(socket)) {
      reply.hijack();
      socket.destroy();
      return;
    }
    busy.add(socket);
    reply.raw.once('close', () => busy.delete(socket));
    done();
  };
}
