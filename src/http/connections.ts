/** Connections that are told that there is no room, and may read it; beyond these, the oldest one closes. */
const MAX_REFUSED = 500;

/** A connection, or a socket in a TLS handshake. */
export interface Occupant {
  destroy(): unknown;
}

/** The connections of one principal. */
class Share {
  readonly all = new Set<Occupant>();
  /** In the order since when they wait. */
  readonly waiting = new Set<Occupant>();
}

/**
 * Bounds the connections, and the memory that they hold together.
 *
 * Where there are too many, one closes that has waited for its client the longest: for a handshake, a request, or for the
 * client to take an answer. So clients that only hold connections do not keep others out.
 */
export class Connections {
  readonly #occupants = new Set<Occupant>();
  /** The server may not have read from them yet, although their requests may have arrived. */
  readonly #unread = new Set<Occupant>();
  /** In the order since when they wait, those without a valid token so far. */
  readonly #strangers = new Set<Occupant>();
  /** By the name of the principal. */
  readonly #shares = new Map<string, Share>();
  readonly #principals = new Map<Occupant, string>();
  readonly #refused = new Set<Occupant>();
  /** Bytes that count, in the order since when they are held. */
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
      this.#unread.add(occupant);
      // Node reads what the operating system has received before the second of these callbacks.
      setImmediate(() => setImmediate(() => this.#unread.has(occupant) && this.setWaiting(occupant)));
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
    this.#leaveShare(occupant);
    this.setHeld(occupant, 0);
  }

  /** A valid token has come on the connection. */
  setPrincipal(occupant: Occupant, name: string): void {
    if (this.#principals.get(occupant) === name || !this.#occupants.has(occupant)) return;
    const isWaiting = this.#strangers.has(occupant) || this.#shareOf(occupant)?.waiting.has(occupant) === true;
    this.setInUse(occupant);
    this.#leaveShare(occupant);
    this.#principals.set(occupant, name);
    const share = this.#shares.get(name) ?? new Share();
    this.#shares.set(name, share);
    share.all.add(occupant);
    if (isWaiting) share.waiting.add(occupant);
  }

  /** The connection waits for its client from now on. */
  setWaiting(occupant: Occupant): void {
    this.setInUse(occupant);
    if (this.#occupants.has(occupant)) (this.#shareOf(occupant)?.waiting ?? this.#strangers).add(occupant);
  }

  /** The client waits for an answer. */
  setInUse(occupant: Occupant): void {
    this.#unread.delete(occupant);
    this.#strangers.delete(occupant);
    this.#shareOf(occupant)?.waiting.delete(occupant);
  }

  /**
   * Sets the bytes that a connection holds; beyond the maximum, those that have held theirs the longest close. Less than
   * an equal part of the maximum does not count, so that small requests are safe.
   */
  setHeld(occupant: Occupant, bytes: number): void {
    const counted = bytes > this.maxBytes / this.maxOccupants ? bytes : 0;
    this.#bytes += counted - (this.#held.get(occupant) ?? 0);
    if (counted > 0) this.#held.set(occupant, counted);
    else this.#held.delete(occupant);
    while (this.#bytes > this.maxBytes) {
      const [oldest] = this.#held.keys();
      if (oldest === undefined) return;
      this.#close(oldest);
    }
  }

  #shareOf(occupant: Occupant): Share | undefined {
    const name = this.#principals.get(occupant);
    return name === undefined ? undefined : this.#shares.get(name);
  }

  #leaveShare(occupant: Occupant): void {
    const name = this.#principals.get(occupant);
    if (name === undefined) return;
    this.#principals.delete(occupant);
    const share = this.#shares.get(name);
    share?.all.delete(occupant);
    if (share?.all.size === 0) this.#shares.delete(name);
  }

  #closeLongestWaiting(): boolean {
    const [stranger] = this.#strangers;
    const longest = stranger ?? this.#longestWaitingOfLargestShare();
    if (longest === undefined) return false;
    this.#close(longest);
    return true;
  }

  /** Shares that are smaller than equal ones, with one for a further principal, stay as they are. */
  #longestWaitingOfLargestShare(): Occupant | undefined {
    const equal = this.maxOccupants / (this.#shares.size + 1);
    let largest: Share | undefined;
    for (const share of this.#shares.values()) {
      const { all, waiting } = share;
      if (waiting.size > 0 && all.size >= equal && all.size > (largest?.all.size ?? 0)) largest = share;
    }
    const [longest] = largest?.waiting ?? [];
    return longest;
  }

  #close(occupant: Occupant): void {
    this.remove(occupant);
    occupant.destroy();
  }
}
