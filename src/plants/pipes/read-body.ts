import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { ContractException } from '../../contract/contract.exception.js';

/** The least capacity of a buffer for a body that arrives in parts. */
const MIN_CAPACITY = 1_024;

/** Reserves memory, and returns whether there was room for it. */
type Charge = (bytes: number) => boolean;

/**
 * Takes a body that has arrived completely, as most have when the guard has verified the token.
 *
 * @param length the value of Content-Length
 * @returns undefined if the body is chunked, or if a part of it has yet to arrive
 * @throws {ContractException} 503 if there is no room for it, 400 or 408 if it will be incomplete
 */
export function takeBody(request: IncomingMessage, length: number | undefined, charge: Charge): Uint8Array | undefined {
  if (request.destroyed) throw incompleteBecauseOf(request.errored);
  // A chunked body: only its end tells its length.
  if (length === undefined) return undefined;
  if (!request.complete || request.readableLength !== length) return undefined;
  if (!charge(length)) throw new ContractException(503);
  // The length is needed: without it, `read` returns the first chunk alone on Node 26.
  const body = request.read(length) as Uint8Array;
  // Lets the stream end.
  request.read(0);
  return body;
}

/**
 * Collects a body that `takeBody` has not taken.
 *
 * @param length the value of Content-Length; undefined if the body is chunked
 * @param limit the greatest length that is accepted
 * @throws {ContractException} 413 if the body is too large, 503 if there is no room for it, 400 or 408 if it is incomplete
 */
export async function collectBody(
  request: IncomingMessage,
  length: number | undefined,
  limit: number,
  charge: Charge,
): Promise<Uint8Array> {
  const body = new BodyBuffer(limit, length ?? limit, charge);
  return new Promise((resolve, reject) => {
    const add = (chunk: Buffer): void => {
      const refusal = body.add(chunk);
      if (refusal === undefined) return;
      // Discards the rest: a client that is still sending does not read the answer.
      request.off('data', add).resume();
      // `finished` may keep its callback until the connection ends, and so the bytes.
      body.free();
      reject(refusal);
    };
    finished(request, (error) => {
      if (error) reject(incompleteBecauseOf(error));
      else resolve(body.bytes());
    });
    // Starts the stream. The server pauses chunks that no listener for `data` takes.
    request.on('data', add);
  });
}

/** One buffer for all chunks: a list of them would occupy hundreds of bytes for each, which may be a single byte. */
class BodyBuffer {
  #buffer = Buffer.alloc(0);
  #length = 0;

  /**
   * @param limit the greatest length that is accepted
   * @param maxCapacity the greatest length that is possible: the value of Content-Length, or the limit
   */
  constructor(
    private readonly limit: number,
    private readonly maxCapacity: number,
    private readonly charge: Charge,
  ) {}

  /** Adds a chunk, or returns why the body is refused. */
  add(chunk: Buffer): ContractException | undefined {
    const length = this.#length + chunk.length;
    if (length > this.limit) return bodyTooLarge(this.limit);
    if (length > this.#buffer.length && !this.#grow(length)) return new ContractException(503);
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
    return undefined;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  free(): void {
    this.#buffer = Buffer.alloc(0);
  }

  /** Makes the buffer long enough for twice the bytes. Returns false if there is no room for it. */
  #grow(length: number): boolean {
    const capacity = Math.min(Math.max(2 * length, MIN_CAPACITY), this.maxCapacity);
    if (!this.charge(capacity - this.#buffer.length)) return false;
    // Not from Buffer's pool: a slice would keep the whole pool in memory.
    const larger = Buffer.allocUnsafeSlow(capacity);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
    return true;
  }
}

/** Makes the refusal of a body that exceeds the limit in bytes, by its declared or its real length. */
export function bodyTooLarge(limit: number): ContractException {
  return new ContractException(413, `The body is too large: at most ${limit} bytes are accepted.`);
}

/** Returns the refusal with which the server has ended the body. Other errors, and that of a host's server, say less. */
function incompleteBecauseOf(error: Error | null): ContractException {
  if (error instanceof ContractException) return error;
  return new ContractException(400, 'The connection was closed before the body was complete.');
}
