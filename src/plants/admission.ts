import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';

/** Requests in flight, at most. */
const MAX_REQUESTS = 2_048;

/** Bytes of all their bodies and plants. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 16_777_216;

interface Request {
  readonly answer: ServerResponse;
  /** The length of its body, as far as it has arrived. */
  bytes: number;
}

/**
 * Bounds the memory that requests in flight occupy: their number, and the bytes of their bodies and plants, for all
 * clients together. A request is in flight until its client has taken the answer.
 */
export class Admission {
  readonly #maxBytes: number;
  /**
   * In the order of their arrival. In a Map or a Set, requests that are answered would survive until the next full
   * collection: each time it is rehashed, V8 keeps the old table, with what was in it.
   */
  readonly #requests: Request[] = [];
  #plants = 0;
  #bytes = 0;
  #isClosed = false;
  /** Resolves the promise of `close`. */
  #becomeIdle = (): void => undefined;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Admits a request until its connection has taken the answer, or is closed.
   *
   * @returns a function that charges bytes of the body, and returns whether there is room for them
   * @throws {ContractException} 503 if there are too many
   */
  admit(answer: ServerResponse): (bytes: number) => boolean {
    if (this.#isFull) this.#removeUntaken();
    if (this.#isFull) throw new ContractException(503);
    const request = { answer, bytes: 0 };
    this.#requests.push(request);
    answer.once('close', () => this.#remove(request));
    return (bytes) => this.#charge(request, bytes);
  }

  /**
   * Counts a plant until `leave` is called with the same bytes.
   *
   * @throws {ContractException} 503 after `close`
   */
  enter(bytes: number): void {
    if (this.#isClosed) throw new ContractException(503);
    this.#plants += 1;
    this.#bytes += bytes;
  }

  leave(bytes: number): void {
    this.#plants -= 1;
    this.#bytes -= bytes;
    if (this.#plants === 0) this.#becomeIdle();
  }

  /** Waits until all plants have left, and takes no further one. */
  async close(): Promise<void> {
    while (this.#plants > 0) await new Promise<void>((resolve) => (this.#becomeIdle = resolve));
    this.#isClosed = true;
  }

  get #isFull(): boolean {
    return this.#requests.length >= MAX_REQUESTS || this.#bytes >= this.#maxBytes;
  }

  #charge(request: Request, bytes: number): boolean {
    if (!this.#requests.includes(request)) return false;
    request.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#removeUntaken();
    if (this.#bytes <= this.#maxBytes) return true;
    // Its connection may stay open for seconds, but its body is discarded.
    this.#remove(request);
    return false;
  }

  /** Closes the connections of clients that have not taken their answer, the oldest first, until there is room. */
  #removeUntaken(): void {
    for (const request of [...this.#requests]) {
      if (!this.#isFull) return;
      const { answer } = request;
      // On Node 20, a response that waits for the one before it emits no `close` when the connection closes.
      const isUntaken = answer.headersSent && answer.writableLength > 0;
      if (!isUntaken && !answer.req.socket.destroyed) continue;
      answer.destroy();
      this.#remove(request);
    }
  }

  #remove(request: Request): void {
    const index = this.#requests.indexOf(request);
    if (index < 0) return;
    this.#requests.splice(index, 1);
    this.#bytes -= request.bytes;
  }
}
