import type { Socket } from 'node:net';

/** A connection that takes one of the places of a server. */
export interface OpenConnection {
  readonly socket: Socket;
  /** True if it must not be closed for a new one. */
  readonly isInUse: boolean;
  /** When it began to wait or to work, on the clock of `performance.now`. */
  readonly since: number;
  /** True if its client has got a 200. */
  readonly hasSucceeded: boolean;
}

/**
 * The open connections of a server. At the limit, a new connection replaces one that is not in use: first those that never
 * had a 200, and of these the one that has waited the longest.
 */
export class OpenConnections {
  readonly #all = new Set<OpenConnection>();

  constructor(private readonly limit: number) {}

  /** Closes connections until there is room for a new one. Returns false if all that remain are in use. */
  makeRoom(): boolean {
    while (this.#all.size >= this.limit) if (!this.#closeOne()) return false;
    return true;
  }

  /** Adds a connection, even beyond the limit, until its socket closes. */
  add(connection: OpenConnection): void {
    this.#all.add(connection);
    connection.socket.once('close', () => this.remove(connection));
  }

  remove(connection: OpenConnection): void {
    this.#all.delete(connection);
  }

  /** Closes a connection that is not in use. Returns false if all are. */
  #closeOne(): boolean {
    let first: OpenConnection | undefined;
    for (const connection of this.#all) {
      if (connection.isInUse) continue;
      if (first === undefined || closesBefore(connection, first)) first = connection;
    }
    if (first === undefined) return false;
    this.remove(first);
    first.socket.destroy();
    return true;
  }
}

/** Returns whether one connection is replaced before another one. */
function closesBefore(one: OpenConnection, other: OpenConnection): boolean {
  if (one.hasSucceeded !== other.hasSucceeded) return other.hasSucceeded;
  return one.since < other.since;
}
