/** Connections that are told that there is no room; further ones close without an answer. */
const MAX_REFUSED = 100;

/** A connection, or a socket in a TLS handshake. */
export interface Occupant {
  destroy(): unknown;
}

/**
 * Bounds the connections, and the memory that they hold together.
 *
 * Where there are too many, the one closes that has waited for its client the longest: for a handshake, a request, or for
 * the client to take an answer. So clients that only hold connections do not keep others out.
 */
export class Connections {
  readonly #occupants = new Set<Occupant>();
  /** In the order since when they wait, those without a valid token so far. */
  readonly #strangers = new Set<Occupant>();
  /** In the order since when they wait, those that have sent a valid token. */
  readonly #known = new Set<Occupant>();
  readonly #refused = new Set<Occupant>();
  /** Bytes, in the order since when they are held. */
  readonly #held = new Map<Occupant, number>();
  #bytes = 0;

  /**
   * @param maxOccupants maximum number of connections
   * @param maxBytes maximum of bytes that they hold together
   */
  constructor(
    private readonly maxOccupants: number,
    private readonly maxBytes: number,
  ) {}

  /** Adds a connection, which waits for its client; returns false if there is no room because all others are in use. */
  add(occupant: Occupant): boolean {
    if (this.#occupants.size < this.maxOccupants || this.#closeLongestWaiting()) {
      this.#occupants.add(occupant);
      this.#strangers.add(occupant);
      return true;
    }
    const [oldest] = this.#refused;
    if (oldest !== undefined && this.#refused.size >= MAX_REFUSED) this.#close(oldest);
    this.#refused.add(occupant);
    return false;
  }

  remove(occupant: Occupant): void {
    this.#occupants.delete(occupant);
    this.#refused.delete(occupant);
    this.setInUse(occupant);
    this.setHeld(occupant, 0);
  }

  /** The connection waits for its client from now on. */
  setWaiting(occupant: Occupant, isKnown: boolean): void {
    this.setInUse(occupant);
    if (this.#occupants.has(occupant)) (isKnown ? this.#known : this.#strangers).add(occupant);
  }

  /** The client waits for an answer. */
  setInUse(occupant: Occupant): void {
    this.#strangers.delete(occupant);
    this.#known.delete(occupant);
  }

  /** Sets the bytes that a connection holds; beyond the maximum, those that have held theirs the longest close. */
  setHeld(occupant: Occupant, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(occupant) ?? 0);
    if (bytes > 0) this.#held.set(occupant, bytes);
    else this.#held.delete(occupant);
    while (this.#bytes > this.maxBytes) {
      const [oldest] = this.#held.keys();
      if (oldest === undefined) return;
      this.#close(oldest);
    }
  }

  #closeLongestWaiting(): boolean {
    const [stranger] = this.#strangers;
    const [known] = this.#known;
    const longest = stranger ?? known;
    if (longest === undefined) return false;
    this.#close(longest);
    return true;
  }

  #close(occupant: Occupant): void {
    this.remove(occupant);
    occupant.destroy();
  }
}
