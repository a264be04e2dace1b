import type { Socket } from 'node:net';

/**
 * The clock of the heads of a connection: from the first byte of a request to the end of its headers. Node's clock goes on
 * while the socket is paused, and reports a late head only once. A head that may have waited unread therefore gets another
 * timeout when Node reports it, and again as long as the socket was paused meanwhile. If Node changes when it pauses or
 * reports, test/http/timeouts or slow-store fail.
 */
export class HeadClock {
  /** True if the socket was paused at any time since the last head, or in the extra timeout. */
  #wasPaused = false;
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
    socket.on('pause', () => (this.#wasPaused = true));
    socket.on('close', () => clearTimeout(this.#timer));
  }

  /** Stops the clock: the headers are complete. */
  headArrived(): void {
    this.#wasPaused = false;
    clearTimeout(this.#timer);
  }

  /** Refuses a head that Node reports as late, unless it may have waited unread. */
  reportLate(): void {
    // A timer would keep the process alive.
    if (this.socket.destroyed) return;
    if (!this.#wasPaused) {
      this.refuse();
      return;
    }
    // If the socket is still paused, the next timeout does not count either.
    this.#wasPaused = this.socket.isPaused();
    this.#timer = setTimeout(() => this.reportLate(), this.timeout);
  }
}
