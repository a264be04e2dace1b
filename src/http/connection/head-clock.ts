import type { Socket } from 'node:net';

/**
 * The clock of the heads of a connection: from the first byte of a request to the end of its headers. Node's clock goes on
 * while the socket is paused, and reports a late head only once. A head is therefore late at the end of the first interval in
 * which the socket was never paused:
 *
 * | interval | begins                                         | ends                   |
 * |----------|------------------------------------------------|------------------------|
 * | first    | when the head before it was complete           | when Node reports it   |
 * | next     | at the end of an interval with a paused socket | after the timeout      |
 *
 * If Node changes when it pauses or reports, test/http/timeouts or slow-store fail.
 */
export class HeadClock {
  /** True if the socket was paused at any time in this interval: the head may have waited unread. */
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
    clearTimeout(this.#timer);
    this.#beginInterval();
  }

  /** Ends an interval in which no head was complete. */
  headIsLate(): void {
    // A timer would keep the process alive.
    if (this.socket.destroyed) return;
    if (this.#wasPaused) {
      this.#beginInterval();
      this.#timer = setTimeout(() => this.headIsLate(), this.timeout);
    } else {
      this.refuse();
    }
  }

  #beginInterval(): void {
    // The pause may have begun earlier, and go on.
    this.#wasPaused = this.socket.isPaused();
  }
}
