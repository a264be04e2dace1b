import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';
import type { NewPlantDto } from './dto/plant.dto.js';

/** Requests of clients and calls of the host in flight, at most. */
const MAX_PLACES = 2_048;

/** Bytes of all their bodies and plants. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 16_777_216;

/**
 * The place of a request of a client, or of a call of the host, in the account of Admission. It is free when it has no holder
 * any more:
 *
 * | holder | holds it from                              | until                                                |
 * |--------|--------------------------------------------|------------------------------------------------------|
 * | client | NewPlantPipe: `admitClient`                | it takes the answer or goes, or its body is refused  |
 * | plant  | PlantsService: `admitPlant` or `admitCall` | its outcome is known, and `onPlantCreated` has ended |
 *
 * In a call of the host, the plant is the only holder.
 */
export interface Place {
  /** The answer to the client, and the bytes of its body, as far as it has arrived. */
  client?: { readonly answer: ServerResponse; bytes: number } | undefined;
  plant?: { readonly bytes: number } | undefined;
}

/** The plant of a request, and the request's place. */
export interface AdmittedPlant {
  readonly plant: NewPlantDto;
  readonly place: Place;
}

/**
 * Bounds the memory that requests of clients and calls of the host occupy: their number, and the bytes of their bodies
 * and plants, for all of them together. When there is no room, clients that do not take their answers lose their
 * connections; if that makes no room, requests get error 503.
 */
export class Admission {
  readonly #maxBytes: number;
  /**
   * In the order of their arrival. To find and to remove one of 2,048 is cheap. In a Map or a Set, requests that are answered
   * would survive until the next full collection: each time it is rehashed, V8 keeps the old table, with what was in it.
   */
  readonly #places: Place[] = [];
  /** The sum of the bytes of all holders. */
  #bytes = 0;
  #isClosed = false;
  /** Wakes `close`. */
  #onPlantReleased = (): void => undefined;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Takes a place for the client of a request, until the answer emits `close`.
   *
   * @throws {ContractException} 503 if there is no room, if the client has gone or has an answer already, or after `close`
   */
  admitClient(answer: ServerResponse): Place {
    // Its `close` may have been emitted: nothing would release the place.
    if (answer.writableEnded || answer.req.socket.destroyed) throw new ContractException(503);
    const place = this.#admit({ client: { answer, bytes: 0 } });
    answer.once('close', () => this.releaseClient(place));
    return place;
  }

  /**
   * Counts bytes of the body of a request, and returns whether there is room for them. If there is none, the client releases
   * the place: its connection may stay open for seconds, but its body is discarded.
   */
  chargeBody(place: Place, bytes: number): boolean {
    if (place.client === undefined) return false;
    place.client.bytes += bytes;
    this.#bytes += bytes;
    if (this.#makeRoom()) return true;
    this.releaseClient(place);
    return false;
  }

  /**
   * Makes the plant of a request hold the request's place, too, and counts its bytes.
   *
   * @throws {ContractException} 503 if the client of the request has gone
   */
  admitPlant(place: Place, bytes: number): void {
    if (isFree(place)) throw new ContractException(503);
    this.#holdForPlant(place, bytes);
  }

  /**
   * Takes a place for a call of the host, and makes its plant hold it.
   *
   * @throws {ContractException} 503 if there is no room, or after `close`
   */
  admitCall(bytes: number): Place {
    const place = this.#admit({});
    this.#holdForPlant(place, bytes);
    return place;
  }

  /** Says that the client holds the place no longer, if it still did. */
  releaseClient(place: Place): void {
    this.#bytes -= place.client?.bytes ?? 0;
    place.client = undefined;
    if (isFree(place)) this.#remove(place);
  }

  /** Says that the plant holds the place no longer, if it still did. */
  releasePlant(place: Place): void {
    this.#bytes -= place.plant?.bytes ?? 0;
    place.plant = undefined;
    if (isFree(place)) this.#remove(place);
    this.#onPlantReleased();
  }

  /** Waits until clients alone hold places, and admits nothing from then on. */
  async close(): Promise<void> {
    while (this.#places.some(({ plant }) => plant !== undefined)) {
      await new Promise<void>((resolve) => (this.#onPlantReleased = resolve));
    }
    this.#isClosed = true;
  }

  #admit(place: Place): Place {
    if (this.#isClosed) throw new ContractException(503);
    this.#places.push(place);
    if (this.#makeRoom()) return place;
    this.#remove(place);
    throw new ContractException(503);
  }

  /**
   * Makes a plant hold a place. Room for its bytes is not checked, because it is in memory already. So the total may exceed
   * the limit, by about twice the bytes of the bodies that had room, and by a plant that the host has made or parsed. Nothing
   * else is admitted until the total is within the limit again.
   */
  #holdForPlant(place: Place, bytes: number): void {
    place.plant = { bytes };
    this.#bytes += bytes;
  }

  #remove(place: Place): void {
    const index = this.#places.indexOf(place);
    if (index >= 0) this.#places.splice(index, 1);
  }

  /** Makes room by closing connections whose clients do not take their answers. Returns false if that is not enough. */
  #makeRoom(): boolean {
    while (this.#places.length > MAX_PLACES || this.#bytes > this.#maxBytes) {
      if (!this.#closeOldestAnswered()) return false;
    }
    return true;
  }

  /** Closes the oldest connection whose client does not take its answer, and releases its place. Returns false without one. */
  #closeOldestAnswered(): boolean {
    const place = this.#places.find(({ client }) => client !== undefined && isAnswered(client.answer));
    if (place?.client === undefined) return false;
    const { answer } = place.client;
    // A client that has taken a last answer may close its side later, and its response emits `close` only then.
    if (answer.writableLength > 0) answer.destroy();
    this.releaseClient(place);
    return true;
  }
}

function isFree({ client, plant }: Place): boolean {
  return client === undefined && plant === undefined;
}

/** Returns whether the answer to a client is written, or will never be. */
function isAnswered({ headersSent, req }: ServerResponse): boolean {
  // On Node 20, a response that waits for the one before it emits no `close` when the connection closes.
  return headersSent || req.socket.destroyed;
}
