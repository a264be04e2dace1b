import type { Socket } from 'node:net';

/**
 * The clock of the heads of a connection: from the first byte of a request to the end of its headers. Node's clock goes on
 * while the socket is paused, and reports a late head only once. A head that may have waited unread therefore gets another
 * timeout when Node reports it, and again as long as the socket was paused meanwhile. If Node changes when it pauses or
 * reports, test/http/timeouts or slow-store fail.
 */
export class HeadClock {
  /** True if the socket was paused at any time within the time that is measured: since the last head, or in a timeout. */
  #mayHaveWaited = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param timeout milliseconds for a head that has waited
   * @param refuse called when a head is late
   */
  constructor(
    private readonly socket: Socket,
    private readonly timeout: number,
    private readonly refuse: () => void,
  ) {
    // Node also pauses the socket: while nothing reads a body, and while the client does not take what Node has written.
    socket.on('pause', () => (this.#mayHaveWaited = true));
    socket.on('close', () => clearTimeout(this.#timer));
  }

  /** Stops the clock: the headers are complete. */
  headArrived(): void {
    clearTimeout(this.#timer);
    // A socket that is paused now may keep the next head unread.
    this.#mayHaveWaited = this.socket.isPaused();
  }

  /** Refuses a head whose time is over, unless it may have waited unread. */
  headIsLate(): void {
    // A timer would keep the process alive.
    if (this.socket.destroyed) return;
    if (this.#mayHaveWaited) this.#waitAgain();
    else this.refuse();
  }

  #waitAgain(): void {
    // If the socket is still paused, this timeout does not count either.
    this.#mayHaveWaited = this.socket.isPaused();
    this.#timer = setTimeout(() => this.headIsLate(), this.timeout);
  }
}
