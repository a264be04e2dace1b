import type { PublicRequest } from './public-request.js';

/**
 * The time of a connection's late request. Node reports a request as late once, and also if the service has kept it unread:
 * its client then has its whole time from when the service reads again.
 */
export class LateRequest {
  /** The input that Node has reported. A head becomes a request when its headers are complete. */
  #late: 'nothing' | 'a head' | PublicRequest = 'nothing';
  /** Whether the service reads. If it has never paused, Node's report is right. */
  #reading: 'never paused' | 'paused' | { readonly since: number } = 'never paused';
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param timeout milliseconds that the client has to complete a request that was kept unread
   * @param refuse called when its time is over
   */
  constructor(
    private readonly timeout: number,
    private readonly refuse: () => void,
  ) {}

  /** @param request undefined if its headers are not complete */
  report(request: PublicRequest | undefined): void {
    this.#late = request ?? 'a head';
    this.#check();
  }

  /** Notes a request whose headers are complete now. */
  noteHeaders(request: PublicRequest): void {
    if (this.#late === 'a head') this.#late = request;
  }

  /** Stops the time, because the service does not read. */
  pause(): void {
    this.#reading = 'paused';
    clearTimeout(this.#timer);
  }

  /** Begins the time anew, because the service reads again. */
  resume(): void {
    if (this.#reading !== 'paused') return;
    this.#reading = { since: performance.now() };
    this.#check();
  }

  /** Stops the time for good, because the connection is closed. */
  end(): void {
    this.#late = 'nothing';
    clearTimeout(this.#timer);
  }

  /** Refuses the late request if its time is over, or looks again when it will be. */
  #check(): void {
    clearTimeout(this.#timer);
    if (this.#late === 'nothing' || this.#reading === 'paused') return;
    if (this.#late !== 'a head' && this.#late.complete) return;
    const left = this.#reading === 'never paused' ? 0 : this.#reading.since + this.timeout - performance.now();
    if (left > 0) {
      this.#timer = setTimeout(() => this.#check(), left);
    } else {
      this.#late = 'nothing';
      this.refuse();
    }
  }
}
