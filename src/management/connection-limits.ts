import type { Server } from 'node:http';
import type { Socket } from 'node:net';

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
