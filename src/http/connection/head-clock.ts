import type { Socket } from 'node:net';

/**
 * The clock of the heads of a connection: from the first byte of a request to the end of its headers. Node's own clock also
 * counts the time in which the service does not read, and reports a late head only once. If the socket was paused since the
 * head before, the reported head gets another timeout, and again, until a timeout passes without a pause.
 *
 * If Node changes when it pauses or reports, test/http/timeouts or slow-store fail.
 */
export class HeadClock {
  /** True if the socket was paused since the head before, or in the current timeout: the head may have waited unread. */
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
    this.#forgetEarlierPauses();
  }

  /** Called when Node reports a late head, and when a further timeout is over. */
  headIsLate(): void {
    // A timer would keep the process alive.
    if (this.socket.destroyed) return;
    if (this.#wasPaused) {
      this.#forgetEarlierPauses();
      this.#timer = setTimeout(() => this.headIsLate(), this.timeout);
    } else {
      this.refuse();
    }
  }

  #forgetEarlierPauses(): void {
    // A pause may have begun earlier, and go on.
    this.#wasPaused = this.socket.isPaused();
  }
}
