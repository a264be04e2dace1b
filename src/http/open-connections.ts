import type { Socket } from 'node:net';
import type { ClientConnection } from './client-connection.js';

/** The open connections of a server. At the limit, one that waits for its client is closed for a new one. */
export class OpenConnections {
  readonly #bySocket = new Map<Socket, ClientConnection>();

  constructor(private readonly limit: number) {}

  /** Returns the connection of a socket; undefined after another one has taken its place. */
  of(socket: Socket): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  all(): Iterable<ClientConnection> {
    return this.#bySocket.values();
  }

  /**
   * Adds a connection until its socket closes.
   *
   * @returns false if there is no room for it, because all others are in use
   */
  add(connection: ClientConnection): boolean {
    const { socket } = connection;
    if (this.#bySocket.size >= this.limit) this.#closeReplaceable();
    this.#bySocket.set(socket, connection);
    socket.once('close', () => this.remove(connection));
    return this.#bySocket.size <= this.limit;
  }

  remove({ socket }: ClientConnection): void {
    this.#bySocket.delete(socket);
  }

  /** Closes the connection that is replaced first, unless all are in use. */
  #closeReplaceable(): void {
    let first: ClientConnection | undefined;
    for (const connection of this.#bySocket.values()) {
      if (connection.isInUse) continue;
      if (first === undefined || connection.isReplacedBefore(first)) first = connection;
    }
    if (first === undefined) return;
    this.remove(first);
    first.socket.destroy();
  }
}
