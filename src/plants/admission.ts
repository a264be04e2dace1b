import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';

/** Requests of clients and calls of the host in flight, at most. */
const MAX_PLACES = 2_048;

/** Bytes of all their bodies and plants. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 16_777_216;

/**
 * The place of a request of a client, or of a call of the host, in the account of Admission. It counts as long as its
 * client has not taken the answer, or its plant is needed. Only a request has an answer.
 */
export interface Place {
  /** Until the client has taken it, or has gone. */
  answer: ServerResponse | undefined;
  /** True until the plant is stored, and the host has been told. */
  hasPlant: boolean;
  /** The length of the body, as far as it has arrived, and what the plant occupies. */
  bytes: number;
}

/**
 * Bounds the memory that requests of clients and calls of the host occupy: their number, and the bytes of their bodies
 * and plants, for all of them together.
 */
export class Admission {
  readonly #maxBytes: number;
  /**
   * In the order of their arrival. In a Map or a Set, requests that are answered would survive until the next full
   * collection: each time it is rehashed, V8 keeps the old table, with what was in it.
   */
  readonly #places: Place[] = [];
  #bytes = 0;
  #isClosed = false;
  /** Resolves the promise that `close` waits for. */
  #notePlantLeft = (): void => undefined;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Admits a request, or a call if there is no answer.
   *
   * @throws {ContractException} 503 if there are too many, or after `close`
   */
  admit(answer?: ServerResponse): Place {
    if (this.#isFull) this.#removeUntaken();
    if (this.#isFull || this.#isClosed) throw new ContractException(503);
    const place: Place = { answer, hasPlant: false, bytes: 0 };
    this.#places.push(place);
    answer?.once('close', () => this.#endAnswer(place));
    return place;
  }

  /** Charges bytes of the body, and returns whether there is room for them. */
  charge(place: Place, bytes: number): boolean {
    if (place.answer === undefined) return false;
    this.#add(place, bytes);
    if (this.#bytes > this.#maxBytes) this.#removeUntaken();
    if (this.#bytes <= this.#maxBytes) return true;
    // Its connection may stay open for seconds, but its body is discarded.
    this.#endAnswer(place);
    return false;
  }

  /**
   * Counts the plant of a request or a call, too, until `leave`. There is always room for the plant of a body that had
   * room.
   *
   * @throws {ContractException} 503 if the client has gone
   */
  enter(place: Place, bytes: number): void {
    if (!this.#places.includes(place)) throw new ContractException(503);
    place.hasPlant = true;
    this.#add(place, bytes);
  }

  leave(place: Place): void {
    place.hasPlant = false;
    this.#removeUnneeded(place);
    this.#notePlantLeft();
  }

  /** Waits until all plants have left, and admits nothing from then on. */
  async close(): Promise<void> {
    while (this.#places.some(({ hasPlant }) => hasPlant)) {
      await new Promise<void>((resolve) => (this.#notePlantLeft = resolve));
    }
    this.#isClosed = true;
  }

  get #isFull(): boolean {
    return this.#places.length >= MAX_PLACES || this.#bytes >= this.#maxBytes;
  }

  #add(place: Place, bytes: number): void {
    place.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Closes the connections of clients that have not taken their answer, the oldest first, until there is room. */
  #removeUntaken(): void {
    for (const place of [...this.#places]) {
      if (!this.#isFull) return;
      const { answer } = place;
      if (answer === undefined) continue;
      // On Node 20, a response that waits for the one before it emits no `close` when the connection closes.
      const isUntaken = answer.headersSent && answer.writableLength > 0;
      if (!isUntaken && !answer.req.socket.destroyed) continue;
      answer.destroy();
      this.#endAnswer(place);
    }
  }

  #endAnswer(place: Place): void {
    if (place.answer === undefined) return;
    place.answer = undefined;
    this.#removeUnneeded(place);
  }

  #removeUnneeded(place: Place): void {
    if (place.answer !== undefined || place.hasPlant) return;
    this.#places.splice(this.#places.indexOf(place), 1);
    this.#bytes -= place.bytes;
  }
}
