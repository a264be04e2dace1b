import type { IncomingMessage } from 'node:http';
import {
  BodyIncompleteException,
  BodyTooLargeException,
  ContractException,
} from '../../contract/contract.exception.js';
import type { Admission } from '../admission.js';

/**
 * Bytes a second of a body, on average from the fifth second on. A client that sends a little and stops would otherwise
 * occupy its place until the server's own timeout.
 */
const MIN_RATE = 1_024;
const GRACE = 5;

/**
 * A request of the standalone service: when its server learns that the body will not be complete, it sets `bodyError`
 * and emits the event `bodyError` with the same exception.
 */
interface BodySource extends IncomingMessage {
  readonly bodyError?: ContractException;
}

/**
 * Reads the body of a request.
 *
 * @param declaredLength the value of Content-Length
 * @param principal the name of its principal; undefined if the host authenticates
 * @throws {ContractException} 413 if the body is too large, 503 if there is no room for it, 408 if it arrives too slowly,
 *   400 if it is incomplete
 */
export function readBody(
  request: BodySource,
  declaredLength: number | undefined,
  admission: Admission,
  principal: string | undefined,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const limit = admission.bodyLimit;
    if (declaredLength !== undefined && declaredLength > limit) throw new BodyTooLargeException(limit);
    if (request.bodyError !== undefined) throw request.bodyError;
    if (request.complete && declaredLength === request.readableLength) {
      // Most bodies have arrived completely before the guard has verified the token. The length is needed: without it,
      // `read` returns the first chunk alone on Node 26.
      resolve(request.read(declaredLength) as Uint8Array);
      // Lets the stream end.
      request.read(0);
      return;
    }
    if (request.destroyed) throw new BodyIncompleteException();
    admission.enter(principal);
    const body = new ChunkBuffer(declaredLength ?? limit);
    // Counted and not measured: a pause of this process is not one of the client.
    let seconds = 0;
    const rateCheck = setInterval(() => {
      seconds += 1;
      if (seconds >= GRACE && body.length < seconds * MIN_RATE) fail(new ContractException(408));
    }, 1_000);

    const add = (chunk: Buffer): void => {
      if (body.length + chunk.length > limit) fail(new BodyTooLargeException(limit));
      else if (!admission.charge(principal, body.append(chunk))) fail(new ContractException(503));
    };
    const succeed = (): void => {
      stop();
      resolve(body.bytes);
    };
    const fail = (exception: ContractException): void => {
      stop();
      // Discard the rest: a client that is still sending does not read the answer.
      request.resume();
      reject(exception);
    };
    const failIncomplete = (): void => fail(new BodyIncompleteException());
    const stop = (): void => {
      clearInterval(rateCheck);
      admission.leave(principal, body.capacity);
      request.off('data', add).off('end', succeed).off('bodyError', fail);
      request.off('error', failIncomplete).off('close', failIncomplete);
    };
    request.on('end', succeed).on('bodyError', fail);
    request.on('error', failIncomplete).on('close', failIncomplete);
    // The last listener, because it starts the stream.
    request.on('data', add);
  });
}

/**
 * Collects chunks in one buffer that grows. A list of them would occupy hundreds of bytes for each chunk, which may be
 * a single byte.
 */
class ChunkBuffer {
  static readonly #MIN_CAPACITY = 1_024;
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  /** @param maxLength maximum length of all chunks together */
  constructor(private readonly maxLength: number) {}

  get length(): number {
    return this.#length;
  }

  get capacity(): number {
    return this.#buffer.length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns by how many bytes the capacity has grown. */
  append(chunk: Buffer): number {
    const before = this.capacity;
    const length = this.#length + chunk.length;
    if (chunk.length === this.maxLength) {
      // The chunk is the whole body, and needs no copy.
      this.#buffer = chunk;
    } else {
      if (length > this.capacity) this.#grow(length);
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = length;
    return this.capacity - before;
  }

  #grow(length: number): void {
    const capacity = Math.min(Math.max(2 * length, ChunkBuffer.#MIN_CAPACITY), this.maxLength);
    // Not from Buffer's pool: a slice would keep the whole pool in memory.
    const larger = Buffer.allocUnsafeSlow(Math.max(capacity, length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
