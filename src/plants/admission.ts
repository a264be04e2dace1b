import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';

/** Requests of clients and calls of the host in flight, at most. */
const MAX_PLACES = 2_048;

/** Bytes of all their bodies and plants. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 16_777_216;

/**
 * The place of a request of a client, or of a call of the host, in the account of Admission. A client and a plant may need
 * it; it is free when neither does:
 *
 * | it is needed by                | from       | until                                                       |
 * |--------------------------------|------------|-------------------------------------------------------------|
 * | the client                     | `admit`    | it has taken the answer or has gone, or its body is refused |
 * | the plant of a client          | `addPlant` | `removePlant`                                               |
 * | the plant of a call of a host  | `admit`    | `removePlant`                                               |
 */
export interface Place {
  /** The answer to the client that needs the place. */
  client: ServerResponse | undefined;
  isNeededByPlant: boolean;
  /** The length of the body, as far as it has arrived, and what the plant occupies. */
  bytes: number;
}

/**
 * Bounds the memory that requests of clients and calls of the host occupy: their number, and the bytes of their bodies
 * and plants, for all of them together. When there is no room, clients that do not take their answers lose their
 * connections; if that makes no room, requests get error 503.
 */
export class Admission {
  readonly #maxBytes: number;
  /**
   * In the order of their arrival. In a Map or a Set, requests that are answered would survive until the next full
   * collection: each time it is rehashed, V8 keeps the old table, with what was in it.
   */
  readonly #places: Place[] = [];
  /** The sum of the bytes of all places. */
  #bytes = 0;
  #isClosed = false;
  /** Wakes `close`. */
  #onPlantRemoved = (): void => undefined;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Takes a place for the request of a client, or for a call of the host.
   *
   * @param client the answer to the request; undefined for a call of the host
   * @throws {ContractException} 503 if there is no room, if the client has gone or has an answer already, or after `close`
   */
  admit(client?: ServerResponse): Place {
    // Its `close` may have been emitted: nothing would free the place.
    if (client !== undefined && (client.writableEnded || client.req.socket.destroyed)) throw new ContractException(503);
    if (this.#isFull) this.#disconnectUntaken();
    if (this.#isFull || this.#isClosed) throw new ContractException(503);
    const place: Place = { client, isNeededByPlant: client === undefined, bytes: 0 };
    this.#places.push(place);
    client?.once('close', () => this.#forgetClient(place));
    return place;
  }

  /** Counts bytes of the body of a request, and returns whether there is room for them. */
  chargeBody(place: Place, bytes: number): boolean {
    if (place.client === undefined) return false;
    this.#charge(place, bytes);
    if (this.#bytes > this.#maxBytes) this.#disconnectUntaken();
    if (this.#bytes <= this.#maxBytes) return true;
    // Its connection may stay open for seconds, but its body is discarded.
    this.#forgetClient(place);
    return false;
  }

  /**
   * Counts the plant, too, until `removePlant`. There is always room for the plant of a body that had room.
   *
   * @throws {ContractException} 503 if the client has gone
   */
  addPlant(place: Place, bytes: number): void {
    if (!isNeeded(place)) throw new ContractException(503);
    place.isNeededByPlant = true;
    this.#charge(place, bytes);
  }

  /** Ends the need of the plant: it is stored, and the host has been told. */
  removePlant(place: Place): void {
    place.isNeededByPlant = false;
    this.#freeIfUnneeded(place);
    this.#onPlantRemoved();
  }

  /** Waits until all plants are removed, and admits nothing from then on. */
  async close(): Promise<void> {
    while (this.#places.some(({ isNeededByPlant }) => isNeededByPlant)) {
      await new Promise<void>((resolve) => (this.#onPlantRemoved = resolve));
    }
    this.#isClosed = true;
  }

  get #isFull(): boolean {
    return this.#places.length >= MAX_PLACES || this.#bytes >= this.#maxBytes;
  }

  #charge(place: Place, bytes: number): void {
    place.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Closes the connections of clients that do not take their answers, the oldest first, until there is room. */
  #disconnectUntaken(): void {
    for (const place of [...this.#places]) {
      if (!this.#isFull) return;
      if (place.client === undefined || !isUntaken(place.client)) continue;
      place.client.destroy();
      this.#forgetClient(place);
    }
  }

  #forgetClient(place: Place): void {
    // It may have lost its place before its connection closes.
    if (place.client === undefined) return;
    place.client = undefined;
    this.#freeIfUnneeded(place);
  }

  #freeIfUnneeded(place: Place): void {
    if (isNeeded(place)) return;
    this.#places.splice(this.#places.indexOf(place), 1);
    this.#bytes -= place.bytes;
  }
}

function isNeeded({ client, isNeededByPlant }: Place): boolean {
  return client !== undefined || isNeededByPlant;
}

/** Returns whether an answer is written, but not taken by its client, or will never be. */
function isUntaken({ headersSent, writableLength, req }: ServerResponse): boolean {
  // On Node 20, a response that waits for the one before it emits no `close` when the connection closes.
  return (headersSent && writableLength > 0) || req.socket.destroyed;
}
