import type { Socket } from 'node:net';

/** A connection, or a TLS handshake, that holds one of the places of a server. */
export interface Occupant {
  readonly socket: Socket;
  /** True if it must not be closed for a new one. */
  readonly isInUse: boolean;
  /** When it began to wait or to work, on the clock of `performance.now`. */
  readonly since: number;
  /** True if its client has got a 200. */
  readonly hasSucceeded: boolean;
}

/**
 * The places of a server. If all are taken, a new connection replaces one that is not in use: first those that never had a
 * 200, and of these the one that has waited the longest.
 */
export class Places {
  readonly #occupants = new Set<Occupant>();

  constructor(private readonly count: number) {}

  /** Closes connections until a place is free. Returns false if all that remain are in use. */
  makeRoom(): boolean {
    while (this.#occupants.size >= this.count) if (!this.#closeOne()) return false;
    return true;
  }

  /** Takes a place, even one too many, until the socket closes. */
  take(occupant: Occupant): void {
    this.#occupants.add(occupant);
    occupant.socket.once('close', () => this.free(occupant));
  }

  /** Frees the place of an occupant whose socket may stay open. */
  free(occupant: Occupant): void {
    this.#occupants.delete(occupant);
  }

  /** Closes a connection that is not in use. Returns false if all are. */
  #closeOne(): boolean {
    let first: Occupant | undefined;
    for (const occupant of this.#occupants) {
      if (occupant.isInUse) continue;
      if (first === undefined || closesBefore(occupant, first)) first = occupant;
    }
    if (first === undefined) return false;
    this.free(first);
    first.socket.destroy();
    return true;
  }
}

/** Returns whether one connection is replaced before another one. */
function closesBefore(one: Occupant, other: Occupant): boolean {
  if (one.hasSucceeded !== other.hasSucceeded) return other.hasSucceeded;
  return one.since < other.since;
}
