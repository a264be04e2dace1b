import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps at most so many connections. A further one closes the one that is idle the longest, so that idle connections
 * never keep a probe out. `server.maxConnections` would close the new one.
 */
export function limitConnections(server: Server, limit: number): void {
  /** In the order of their last requests, the longest ago first; one without a request counts from its beginning. */
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
