import type { Socket } from 'node:net';
import type { PublicRequest } from './public-request.js';

/**
 * Decides when a request of a connection is too late. Node reports a late request once, by a clock that also runs while the
 * service does not read:
 *
 * | the service     | refuses a request that Node reports as late, if it is not complete by then |
 * |-----------------|----------------------------------------------------------------------------|
 * | has always read | at once                                                                    |
 * | does not read   | not before it reads again                                                  |
 * | reads again     | when it has read for the whole timeout                                     |
 */
export class RequestClock {
  /** What Node has reported. A head becomes a request when its headers are complete. */
  #late: 'a head' | PublicRequest | undefined;
  /** Since when the service reads: -Infinity if it always has; undefined while it does not. */
  #readsSince: number | undefined = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param timeout milliseconds that the client has to complete a request that was kept unread
   * @param refuse refuses the input that is incomplete
   */
  constructor(
    private readonly socket: Socket,
    private readonly timeout: number,
    private readonly refuse: () => void,
  ) {
    socket.on('pause', () => this.#stop());
    socket.on('resume', () => this.#startAnew());
    socket.on('close', () => this.#end());
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

  #stop(): void {
    this.#readsSince = undefined;
  }

  #startAnew(): void {
    // Node also resumes a new socket, and one that is paused again before this event.
    if (this.#readsSince !== undefined || this.socket.isPaused()) return;
    this.#readsSince = performance.now();
    this.#check();
  }

  #end(): void {
    this.#late = undefined;
    clearTimeout(this.#timer);
  }

  /** Refuses the late request, or looks again when its time is over. */
  #check(): void {
    clearTimeout(this.#timer);
    if (!this.#isLate || this.#readsSince === undefined) return;
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
