import type { Socket } from 'node:net';
import type { PublicRequest } from './public-request.js';

/**
 * The request of a connection that Node has reported as late. Node reports it once, and also if the service has kept it
 * unread. Its client then has its whole time from when the service reads again.
 */
export class LateRequest {
  /** Undefined if no request is late. */
  #late: PublicRequest | 'unfinished headers' | undefined;
  /** When the service began to read again. -Infinity: it has never stopped reading. Infinity: it does not read. */
  #readingSince = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param timeout milliseconds that the client has to complete the request
   * @param refuse called when they are over
   */
  constructor(
    private readonly socket: Socket,
    private readonly timeout: number,
    private readonly refuse: () => void,
  ) {
    socket.on('close', () => clearTimeout(this.#timer));
    socket.on('pause', () => (this.#readingSince = Infinity));
    socket.on('resume', () => {
      // The connection may have paused it again.
      if (socket.isPaused()) return;
      if (this.#readingSince === Infinity) this.#readingSince = performance.now();
      this.#check();
    });
  }

  /** @param request undefined if its headers are not complete */
  report(request: PublicRequest | undefined): void {
    this.#late = request ?? 'unfinished headers';
    this.#check();
  }

  /** Notes a request whose headers are complete now. */
  noteHeaders(request: PublicRequest): void {
    if (this.#late === 'unfinished headers') this.#late = request;
  }

  #check(): void {
    clearTimeout(this.#timer);
    if (this.#late === undefined || this.socket.isPaused()) return;
    if (this.#late !== 'unfinished headers' && this.#late.complete) return;
    const left = this.#readingSince + this.timeout - performance.now();
    if (left > 0) {
      this.#timer = setTimeout(() => this.#check(), left);
    } else {
      this.#late = undefined;
      this.refuse();
    }
  }
}
