import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';

/** Requests in flight, at most. */
const MAX_REQUESTS = 2_048;

/** Bytes of all their bodies and plants. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 16_777_216;

/** The part of Node's response that Admission needs. */
export type Answer = Pick<ServerResponse, 'destroy' | 'headersSent' | 'once' | 'req' | 'writableLength'>;

/** A request in flight, and the bytes that it is charged. */
export interface Admitted {
  readonly answer: Answer;
  bytes: number;
}

/**
 * Bounds the memory that requests in flight occupy: their number, and the bytes of their bodies and plants, for all
 * clients together. A request is in flight until its client has taken the answer.
 */
export class Admission {
  readonly #maxBytes: number;
  /**
   * In the order of their arrival. Not a Map: V8 keeps the entries of each table that a Map outgrows until its next full
   * collection, so that every request would survive its young generation (11 µs of CPU a create).
   */
  readonly #requests: Admitted[] = [];
  #plants = 0;
  #bytes = 0;
  #isClosed = false;
  /** Resolve functions of the `settled()` calls that wait for the last plant. */
  #settledListeners: (() => void)[] = [];

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Admits a request until its connection has taken the answer, or is closed.
   *
   * @throws {ContractException} 503 if there are too many
   */
  admit(answer: Answer): Admitted {
    if (this.#isFull) this.#removeUntaken();
    if (this.#isFull) throw new ContractException(503);
    const request = { answer, bytes: 0 };
    this.#requests.push(request);
    answer.once('close', () => this.#remove(request));
    return request;
  }

  /** Charges bytes to an admitted request, and returns whether there is room for them. Without room, the request leaves. */
  charge(request: Admitted, bytes: number): boolean {
    if (!this.#requests.includes(request)) return false;
    request.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#removeUntaken();
    if (this.#bytes <= this.#maxBytes) return true;
    // Its connection may stay open for seconds, but its body is discarded.
    this.#remove(request);
    return false;
  }

  /**
   * Counts a plant until it is stored and the host was told, and returns a function that ends this.
   *
   * @throws {ContractException} 503 after `close`
   */
  enter(bytes: number): () => void {
    if (this.#isClosed) throw new ContractException(503);
    this.#plants += 1;
    this.#bytes += bytes;
    return () => {
      this.#plants -= 1;
      this.#bytes -= bytes;
      if (this.isIdle) for (const resolve of this.#settledListeners.splice(0)) resolve();
    };
  }

  /** True if no plant is being stored, and no call of `onPlantCreated` runs. */
  get isIdle(): boolean {
    return this.#plants === 0;
  }

  /** Resolves when it is idle. */
  settled(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#settledListeners.push(resolve));
  }

  /** Takes no further plant. */
  close(): void {
    this.#isClosed = true;
  }

  get #isFull(): boolean {
    return this.#requests.length >= MAX_REQUESTS || this.#bytes >= this.#maxBytes;
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

  #remove(request: Admitted): void {
    const index = this.#requests.indexOf(request);
    if (index < 0) return;
    this.#requests.splice(index, 1);
    this.#bytes -= request.bytes;
  }
}
