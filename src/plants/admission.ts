import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';
import { lengthOf, type StoredPlant } from '../storage/plant-repository.js';

const MAX_REQUESTS = 2_048;
const MAX_PLANTS = 2_048;

/** Maximum bytes of all bodies and plants, unless two bodies of the greatest length need more. */
const MAX_BYTES = 16_777_216;

/** Bytes that a plant occupies in addition to its texts. */
const PLANT_COST = 512;

/** A request of a client. */
interface AdmittedRequest {
  readonly answer: ServerResponse;
  /** The bytes of its body, as far as it has arrived. */
  bytes: number;
}

/**
 * Counts further bytes of the body of a request, and returns whether there is room for them. If there is none, the request
 * no longer counts: its body is discarded, though its connection may stay open for seconds.
 */
export type ChargeBody = (bytes: number) => boolean;

/**
 * Limits the requests of clients, the plants (including those of the host's calls), and the bytes of both, and so the memory
 * that they occupy. Beyond a limit, it refuses with error 503. A request and its plant count independently:
 *
 * | what counts             | from                         | until                                                |
 * |-------------------------|------------------------------|------------------------------------------------------|
 * | a request, and its body | NewPlantPipe: `admitRequest` | the client has taken the answer or disconnected      |
 * | a plant                 | PlantCreator: `admitPlant`   | its outcome is known, and `onPlantCreated` has ended |
 */
export class Admission {
  readonly #maxBytes: number;
  /** In the order of arrival. An array, not a Set: V8's sets keep removed entries reachable for a while. */
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
   * @returns a function that counts the bytes of its body
   * @throws {ContractException} 400 if the client has gone; 503 if it has an answer, after `close`, or if there is no room
   */
  admitRequest(answer: ServerResponse): ChargeBody {
    // In these two cases, the answer may have emitted `close` already, so that the request would count for ever.
    if (answer.req.socket.destroyed) throw clientHasGone();
    if (answer.writableEnded) throw new ContractException(503);
    if (this.#isClosed) throw new ContractException(503);
    const request: AdmittedRequest = { answer, bytes: 0 };
    this.#requests.push(request);
    answer.once('close', () => this.#stopCounting(request));
    // Makes room for the request itself.
    if (!this.#charge(request, 0)) throw new ContractException(503);
    return (bytes) => this.#charge(request, bytes);
  }

  /** @throws {ContractException} 503 if there is no room for a call of the host */
  assertRoom(): void {
    if (!this.#makeRoom()) throw new ContractException(503);
  }

  /**
   * Admits a plant, even if there is no room for its bytes: it is in memory already. So the total may exceed the limit: by
   * twice the bytes of the bodies that had room, by 512 bytes for each plant, and by plants that the host has made or
   * parsed. No request, body or call of the host has room until the total is within the limit again.
   *
   * @returns a function that releases the plant
   * @throws {ContractException} 503 if there are too many plants, or after `close`
   */
  admitPlant(plant: Readonly<StoredPlant>): () => void {
    if (this.#isClosed || this.#plants === MAX_PLANTS) throw new ContractException(503);
    // A UTF-16 unit occupies up to two bytes.
    const bytes = PLANT_COST + 2 * lengthOf(plant);
    this.#plants += 1;
    this.#bytes += bytes;
    return () => {
      this.#plants -= 1;
      this.#bytes -= bytes;
      this.#onPlantReleased();
    };
  }

  /**
   * Waits until there are no plants, and then admits nothing. During the wait, `onPlantCreated` may create plants. Requests
   * are not waited for: a client may never take its answer.
   */
  async close(): Promise<void> {
    while (this.#plants > 0) await new Promise<void>((resolve) => (this.#onPlantReleased = resolve));
    this.#isClosed = true;
  }

  /** Counts further bytes of a request, as ChargeBody says. */
  #charge(request: AdmittedRequest, bytes: number): boolean {
    // A host may answer before the body has arrived: the request then counts no longer, and must evict no other.
    if (!this.#requests.includes(request)) return false;
    request.bytes += bytes;
    this.#bytes += bytes;
    if (this.#makeRoom(request)) return true;
    this.#stopCounting(request);
    return false;
  }

  /** Stops counting a request, unless it counts no longer. */
  #stopCounting(request: AdmittedRequest): void {
    const index = this.#requests.indexOf(request);
    if (index < 0) return;
    this.#requests.splice(index, 1);
    this.#bytes -= request.bytes;
  }

  /**
   * Evicts the oldest finished requests until the totals are within the limits. Returns false if too few are finished.
   *
   * @param charged the request that needs the room, which is not evicted
   */
  #makeRoom(charged?: AdmittedRequest): boolean {
    while (this.#requests.length > MAX_REQUESTS || this.#bytes > this.#maxBytes) {
      const request = this.#requests.find((admitted) => admitted !== charged && isFinished(admitted.answer));
      if (request === undefined) return false;
      // If nothing waits, the operating system has the whole answer, and only `close` is still to come: for a last answer, it
      // comes when the client closes its side.
      if (request.answer.writableLength > 0) request.answer.destroy();
      this.#stopCounting(request);
    }
    return true;
  }
}

/** Returns the refusal of a request whose client has disconnected, for the log. */
export function clientHasGone(): ContractException {
  return new ContractException(400, 'The client has disconnected.');
}

/** Returns whether the answer is written, or the client has gone. */
function isFinished({ headersSent, req }: ServerResponse): boolean {
  // On Node 20, a response that waits for the one before it emits no `close` when the connection closes.
  return headersSent || req.socket.destroyed;
}
