import type { IncomingMessage } from 'node:http';
import {
  BodyIncompleteException,
  BodyTooLargeException,
  ContractException,
} from '../../contract/contract.exception.js';

/** The least capacity of a buffer for a body that arrives in parts. */
const MIN_CAPACITY = 1_024;

/**
 * A request of the standalone service: when its server learns that the body will not be complete, it sets `bodyError`
 * and emits the event `bodyError` with the same exception.
 */
interface BodySource extends IncomingMessage {
  readonly bodyError?: ContractException;
}

/** Reserves memory, and returns whether there was room for it. */
type Charge = (bytes: number) => boolean;

/**
 * Reads the body of a request.
 *
 * @param length the value of Content-Length
 * @param limit the greatest length
 * @returns the body, or its promise if it has not arrived completely
 * @throws {ContractException} 413 if the body is too large, 503 if there is no room for it, 400 or 408 if it is incomplete
 */
export function readBody(
  request: BodySource,
  length: number | undefined,
  limit: number,
  charge: Charge,
): Uint8Array | Promise<Uint8Array> {
  if (request.bodyError !== undefined) throw request.bodyError;
  if (request.complete && length === request.readableLength) {
    if (!charge(length)) throw new ContractException(503);
    // Most bodies have arrived completely before the guard has verified the token. The length is needed: without it,
    // `read` returns the first chunk alone on Node 26.
    const body = request.read(length) as Uint8Array;
    // Lets the stream end.
    request.read(0);
    return body;
  }
  if (request.destroyed) throw new BodyIncompleteException();
  return collect(request, length ?? limit, charge);
}

function collect(request: BodySource, maxLength: number, charge: Charge): Promise<Uint8Array> {
  const body = new GrowingBuffer(maxLength);
  return new Promise((resolve, reject) => {
    const add = (chunk: Buffer): void => {
      if (body.length + chunk.length > maxLength) fail(new BodyTooLargeException(maxLength));
      else if (!charge(body.append(chunk))) fail(new ContractException(503));
    };
    const fail = (exception: ContractException): void => {
      // Discard the rest: a client that is still sending does not read the answer.
      request.off('data', add).resume();
      reject(exception);
    };
    const failIncomplete = (): void => {
      if (!request.readableEnded) fail(new BodyIncompleteException());
    };
    request.on('end', () => resolve(body.bytes));
    request.on('bodyError', fail).on('error', failIncomplete).on('close', failIncomplete);
    // The last listener, because it starts the stream.
    request.on('data', add);
  });
}

/** Copies chunks into one buffer: a list of them would occupy hundreds of bytes for each, which may be a single byte. */
class GrowingBuffer {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  /** @param maxLength maximum length of all chunks together */
  constructor(private readonly maxLength: number) {}

  get length(): number {
    return this.#length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns by how many bytes the buffer has grown. */
  append(chunk: Buffer): number {
    const buffer = this.#buffer;
    const length = this.#length + chunk.length;
    if (length > buffer.length) {
      // Not from Buffer's pool: a slice would keep the whole pool in memory.
      this.#buffer = Buffer.allocUnsafeSlow(Math.min(Math.max(2 * length, MIN_CAPACITY), this.maxLength));
      buffer.copy(this.#buffer, 0, 0, this.#length);
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
    return this.#buffer.length - buffer.length;
  }
}
