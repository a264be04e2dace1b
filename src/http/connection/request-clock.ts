import type { Socket } from 'node:net';
import type { PublicRequest } from '../message/public-request.js';

/**
 * Refuses the input of a connection that arrives too late. Node reports late input once, by a clock that also runs while the
 * service does not read. A client that was kept waiting in this way has the whole timeout from when the service reads again:
 *
 * | the service   | input that Node has reported as late                                                 |
 * |---------------|--------------------------------------------------------------------------------------|
 * | reads         | is refused when it is still incomplete at the end of the timeout since reading began |
 * | does not read | waits until the service reads                                                        |
 */
export class RequestClock {
  /** The incomplete input that Node has reported. A head becomes a request when its headers are complete. */
  #late: 'a head' | PublicRequest | undefined;
  /** Since when the service reads: -Infinity if it has read all the time; undefined while it does not. */
  #readsSince: number | undefined = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param timeout milliseconds that the client has to complete input that was kept unread
   * @param refuse refuses the input that is incomplete
   */
  constructor(
    private readonly socket: Socket,
    private readonly timeout: number,
    private readonly refuse: () => void,
  ) {
    socket.on('pause', () => (this.#readsSince = undefined));
    socket.on('resume', () => this.#beginReading());
    socket.on('close', () => clearTimeout(this.#timer));
  }

  /**
   * Takes a report of Node.
   *
   * @param request undefined if its headers are not complete
   */
  report(request: PublicRequest | undefined): void {
    this.#late = request ?? 'a head';
    this.#check();
  }

  /** Notes a request whose headers are complete now. */
  noteHeaders(request: PublicRequest): void {
    if (this.#late === 'a head') this.#late = request;
  }

  #beginReading(): void {
    // Node also resumes a new socket, and one that is paused again before this event.
    if (this.#readsSince !== undefined || this.socket.isPaused()) return;
    this.#readsSince = performance.now();
    this.#check();
  }

  /** Refuses the late input, or looks again when its time is over. While reading is stopped, its time does not end. */
  #check(): void {
    clearTimeout(this.#timer);
    if (!this.#isLate || this.#readsSince === undefined || this.socket.destroyed) return;
    const left = this.#readsSince + this.timeout - performance.now();
    if (left > 0) {
      this.#timer = setTimeout(() => this.#check(), left);
    } else {
      this.#late = undefined;
      this.refuse();
    }
  }

  get #isLate(): boolean {
    return this.#late === 'a head' || this.#late?.complete === false;
  }
}
