import type { IncomingMessage } from 'node:http';
import {
  BodyIncompleteException,
  BodyTooLargeException,
  ContractException,
} from '../../contract/contract.exception.js';

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
 * @param limit the greatest length
 * @param charge called with the bytes that are needed, and returns whether there is room for them
 * @throws {ContractException} 413 if the body is too large, 503 if there is no room for it, 400 or 408 if it is incomplete
 */
export async function readBody(
  request: BodySource,
  declaredLength: number | undefined,
  limit: number,
  charge: (bytes: number) => boolean,
): Promise<Uint8Array> {
  if (request.bodyError !== undefined) throw request.bodyError;
  if (request.complete && declaredLength === request.readableLength) {
    if (!charge(declaredLength)) throw new ContractException(503);
    // Most bodies have arrived completely before the guard has verified the token. The length is needed: without it,
    // `read` returns the first chunk alone on Node 26.
    const body = request.read(declaredLength) as Uint8Array;
    // Lets the stream end.
    request.read(0);
    return body;
  }
  if (request.destroyed) throw new BodyIncompleteException();
  return collect(request, new ChunkBuffer(declaredLength ?? limit), limit, charge);
}

function collect(
  request: BodySource,
  body: ChunkBuffer,
  limit: number,
  charge: (bytes: number) => boolean,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const add = (chunk: Buffer): void => {
      if (body.length + chunk.length > limit) fail(new BodyTooLargeException(limit));
      else if (!charge(body.append(chunk))) fail(new ContractException(503));
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

  get #capacity(): number {
    return this.#buffer.length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns by how many bytes the capacity has grown. */
  append(chunk: Buffer): number {
    const before = this.#capacity;
    const length = this.#length + chunk.length;
    if (chunk.length === this.maxLength) {
      // The chunk is the whole body, and needs no copy.
      this.#buffer = chunk;
    } else {
      if (length > this.#capacity) this.#grow(length);
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = length;
    return this.#capacity - before;
  }

  #grow(length: number): void {
    const capacity = Math.min(Math.max(2 * length, ChunkBuffer.#MIN_CAPACITY), this.maxLength);
    // Not from Buffer's pool: a slice would keep the whole pool in memory.
    const larger = Buffer.allocUnsafeSlow(Math.max(capacity, length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
