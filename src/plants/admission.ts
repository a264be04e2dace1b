import type { ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';
import type { NewPlantDto } from './dto/plant.dto.js';

/** Requests of clients and calls of the host in flight, at most. */
const MAX_PLACES = 2_048;

/** Bytes of all their bodies and plants. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 16_777_216;

type Holder = 'client' | 'plant';

/**
 * The place of a request of a client, or of a call of the host, in the account of Admission. It is free when it has no
 * holder any more:
 *
 * | holder | holds it from                                                    | until                                                |
 * |--------|------------------------------------------------------------------|------------------------------------------------------|
 * | client | NewPlantPipe: `admit`                                            | it takes the answer or goes, or its body is refused  |
 * | plant  | PlantsService: `holdForPlant`, or `admit` for a call of the host | its outcome is known, and `onPlantCreated` has ended |
 */
export interface Place {
  /** The bytes that each of its holders occupies: the body, as far as it has arrived, and the plant. */
  readonly bytesByHolder: Map<Holder, number>;
  /** The answer to the client's request; undefined for a call of the host. */
  readonly client: ServerResponse | undefined;
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
   * In the order of their arrival. In a Map or a Set, requests that are answered would survive until the next full
   * collection: each time it is rehashed, V8 keeps the old table, with what was in it.
   */
  readonly #places: Place[] = [];
  /** The sum of the bytes of all holders. */
  #bytes = 0;
  #isClosed = false;
  /** Wakes `close`. */
  #onRelease = (): void => undefined;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Takes a place for the client of a request, until the answer emits `close`, or for the plant of a call of the host.
   *
   * @param client undefined for a call of the host
   * @throws {ContractException} 503 if there is no room, if the client has gone or has an answer already, or after `close`
   */
  admit(client?: ServerResponse): Place {
    // Its `close` may have been emitted: nothing would release the place.
    if (client !== undefined && (client.writableEnded || client.req.socket.destroyed)) throw new ContractException(503);
    if (this.#isClosed) throw new ContractException(503);
    const holder = client === undefined ? 'plant' : 'client';
    const place: Place = { bytesByHolder: new Map([[holder, 0]]), client };
    this.#places.push(place);
    if (!this.#makeRoom()) {
      this.release(place, holder);
      throw new ContractException(503);
    }
    client?.once('close', () => this.release(place, 'client'));
    return place;
  }

  /**
   * Counts bytes of the body of a request, and returns whether there is room for them. If there is none, the client releases
   * the place: its connection may stay open for seconds, but its body is discarded.
   */
  chargeBody(place: Place, bytes: number): boolean {
    if (isFree(place)) return false;
    this.#charge(place, 'client', bytes);
    if (this.#makeRoom()) return true;
    this.release(place, 'client');
    return false;
  }

  /**
   * Makes the plant of a request a holder of its place, and counts its bytes. There is always room for the plant of a body
   * that had room.
   *
   * @throws {ContractException} 503 if the place is free, because the client has gone
   */
  holdForPlant(place: Place, bytes: number): void {
    if (isFree(place)) throw new ContractException(503);
    this.#charge(place, 'plant', bytes);
  }

  /** Removes a holder from a place, unless it has released the place before. */
  release(place: Place, holder: Holder): void {
    const bytes = place.bytesByHolder.get(holder);
    if (bytes === undefined) return;
    place.bytesByHolder.delete(holder);
    this.#bytes -= bytes;
    if (isFree(place)) this.#places.splice(this.#places.indexOf(place), 1);
    this.#onRelease();
  }

  /** Waits until clients alone hold places, and admits nothing from then on. */
  async close(): Promise<void> {
    while (this.#places.some(({ bytesByHolder }) => bytesByHolder.has('plant'))) {
      await new Promise<void>((resolve) => (this.#onRelease = resolve));
    }
    this.#isClosed = true;
  }

  #charge({ bytesByHolder }: Place, holder: Holder, bytes: number): void {
    bytesByHolder.set(holder, (bytesByHolder.get(holder) ?? 0) + bytes);
    this.#bytes += bytes;
  }

  #hasRoom(): boolean {
    return this.#places.length <= MAX_PLACES && this.#bytes <= this.#maxBytes;
  }

  /**
   * Makes room by closing connections whose clients do not take their answers, the oldest first. Returns false if that is not
   * enough.
   */
  #makeRoom(): boolean {
    if (this.#hasRoom()) return true;
    for (const place of [...this.#places]) {
      const { client, bytesByHolder } = place;
      if (client === undefined || !bytesByHolder.has('client') || !isAnswered(client)) continue;
      // A client that has taken a last answer may close its side later, and its response emits `close` only then.
      if (client.writableLength > 0) client.destroy();
      this.release(place, 'client');
      if (this.#hasRoom()) return true;
    }
    return false;
  }
}

function isFree({ bytesByHolder }: Place): boolean {
  return bytesByHolder.size === 0;
}

/** Returns whether the answer to a client is written, or will never be. */
function isAnswered({ headersSent, req }: ServerResponse): boolean {
  // On Node 20, a response that waits for the one before it emits no `close` when the connection closes.
  return headersSent || req.socket.destroyed;
}
