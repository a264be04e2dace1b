import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { onRequestHookHandler } from 'fastify';

/** The connections of a server, which strangers must not exhaust. */
export class Connections {
  /** Connections without a request in progress. The first one has been idle for longest. */
  readonly #idle = new Set<Socket>();
  /** Connections with a request in progress. The first one has waited for its answer for longest. */
  readonly #busy = new Set<Socket>();

  /**
   * Limits the connections. One beyond the limit closes the one that has been idle for longest, or the first busy one if none
   * is idle, so that a probe is never kept out. `server.maxConnections` would close the new connection.
   */
  limit(server: Server, limit: number): void {
    server.on('connection', (socket) => {
      const [first] = [...this.#idle, ...this.#busy];
      if (first !== undefined && this.#idle.size + this.#busy.size >= limit) {
        this.#forget(first);
        first.destroy();
      }
      this.#idle.add(socket);
      socket.once('close', () => this.#forget(socket));
    });
  }

  /**
   * Closes a connection that sends a request before the last request is answered. Only an attack pipelines here: each request
   * that waits would hold a whole answer in memory. `server.maxRequestsPerSocket` would end each connection after one answer,
   * and does not count requests of HTTP/1.0.
   */
  refusePipelining(): onRequestHookHandler {
    return ({ raw: { socket } }, reply, done) => {
      if (this.#busy.has(socket)) {
        reply.hijack();
        socket.destroy();
        return;
      }
      this.#idle.delete(socket);
      this.#busy.add(socket);
      reply.raw.once('close', () => {
        if (this.#busy.delete(socket)) this.#idle.add(socket);
      });
      done();
    };
  }

  #forget(socket: Socket): void {
    this.#idle.delete(socket);
    this.#busy.delete(socket);
  }
}
