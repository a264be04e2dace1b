import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';

const MAX_REQUESTS = 2_048;
const MAX_PLANTS = 2_048;

/** Bytes of all bodies and plants. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 16_777_216;

/** A request of a client. */
export interface AdmittedRequest {
  readonly answer: ServerResponse;
  /** The bytes of its body, as far as it has arrived. */
  bytes: number;
}

/**
 * Bounds the memory that clients and the host can occupy: the number of requests of clients, the number of plants, those of
 * calls of the host included, and the bytes of both together. Beyond that, it refuses with error 503. A request and its plant
 * count independently:
 *
 * | what counts             | from                         | until                                                |
 * |-------------------------|------------------------------|------------------------------------------------------|
 * | a request, and its body | NewPlantPipe: `admitRequest` | the client has taken the answer or gone              |
 * | a plant                 | PlantsService: `admitPlant`  | its outcome is known, and `onPlantCreated` has ended |
 */
export class Admission {
  readonly #maxBytes: number;
  /**
   * In the order of their arrival. To find and to remove one of 2,048 is cheap. In a Map or a Set, requests that are answered
   * would survive until the next full collection: each time it is rehashed, V8 keeps the old table, with what was in it.
   */
  readonly #requests: AdmittedRequest[] = [];
  #plants = 0;
  /** The sum of the bytes of all requests and plants. */
  #bytes = 0;
  #isClosed = false;
  /** Wakes `close`. */
  #onPlantReleased = (): void => undefined;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Admits a request, until its answer emits `close`.
   *
   * @throws {ContractException} 503 if there is no room, if the client has gone or has an answer already, or after `close`
   */
  admitRequest(answer: ServerResponse): AdmittedRequest {
    if (this.#isClosed) throw new ContractException(503);
    // Its `close` may have been emitted: nothing would release the request.
    if (answer.writableEnded || answer.req.socket.destroyed) throw new ContractException(503);
    const request: AdmittedRequest = { answer, bytes: 0 };
    this.#requests.push(request);
    answer.once('close', () => this.#releaseRequest(request));
    if (this.#makeRoom()) return request;
    this.#releaseRequest(request);
    throw new ContractException(503);
  }

  /**
   * Counts bytes of the body of a request, and returns whether there is room for them. If there is none, the request counts
   * no longer: its connection may stay open for seconds, but its body is discarded.
   */
  chargeBody(request: AdmittedRequest, bytes: number): boolean {
    // The answer of a host does not wait for the body.
    if (!this.#requests.includes(request)) return false;
    request.bytes += bytes;
    this.#bytes += bytes;
    if (this.#makeRoom()) return true;
    this.#releaseRequest(request);
    return false;
  }

  /** @throws {ContractException} 503 if there is no room for the bytes of a call of the host */
  assertRoomForCall(): void {
    if (!this.#makeRoom()) throw new ContractException(503);
  }

  /**
   * Admits a plant, until `releasePlant`, also without room for its bytes: it is in memory already. So the total may exceed
   * the limit, by about twice the bytes of the bodies that had room, and by a plant that the host has made or parsed. No
   * request, no body and no call of the host has room until the total is within the limit again.
   *
   * @throws {ContractException} 503 if there are too many plants, or after `close`
   */
  admitPlant(bytes: number): void {
    if (this.#isClosed || this.#plants === MAX_PLANTS) throw new ContractException(503);
    this.#plants += 1;
    this.#bytes += bytes;
  }

  /** @param bytes those of `admitPlant` */
  releasePlant(bytes: number): void {
    this.#plants -= 1;
    this.#bytes -= bytes;
    this.#onPlantReleased();
  }

  /**
   * Waits until there is no plant, and admits nothing from then on. Until then, calls of `onPlantCreated` may create plants.
   * It does not wait for requests: a client may never take its answer.
   */
  async close(): Promise<void> {
    while (this.#plants > 0) await new Promise<void>((resolve) => (this.#onPlantReleased = resolve));
    this.#isClosed = true;
  }

  /** Releases a request, unless that has been done. */
  #releaseRequest(request: AdmittedRequest): void {
    const index = this.#requests.indexOf(request);
    if (index < 0) return;
    this.#requests.splice(index, 1);
    this.#bytes -= request.bytes;
  }

  /** Makes room by closing connections whose clients do not take their answers. Returns false if that is not enough. */
  #makeRoom(): boolean {
    while (this.#requests.length > MAX_REQUESTS || this.#bytes > this.#maxBytes) {
      if (!this.#closeOldestAnswered()) return false;
    }
    return true;
  }

  /** Closes the oldest connection whose client does not take its answer. Returns false if there is none. */
  #closeOldestAnswered(): boolean {
    const request = this.#requests.find(({ answer }) => isAnswered(answer));
    if (request === undefined) return false;
    // Without bytes to write, the client has taken a last answer, which emits `close` only when the client closes its side.
    if (request.answer.writableLength > 0) request.answer.destroy();
    this.#releaseRequest(request);
    return true;
  }
}

/** Returns whether the answer to a client is written, or will never be. */
function isAnswered({ headersSent, req }: ServerResponse): boolean {
  // On Node 20, a response that waits for the one before it emits no `close` when the connection closes.
  return headersSent || req.socket.destroyed;
}
