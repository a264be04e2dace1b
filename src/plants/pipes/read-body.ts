import type { IncomingMessage } from 'node:http';
import { ContractException } from '../../contract/contract.exception.js';
import { type ChargeBody, clientHasGone } from '../admission.js';

/** Minimum bytes of a buffer for a body that arrives in parts. */
const MIN_CAPACITY = 1_024;

/** Refuses a body that will not be complete. */
export type RefuseBody = (refusal: ContractException) => void;

/** A request whose body must arrive in time: one of the service. Requests of a host are Node's own. */
export interface TimedBody {
  /**
   * Begins the time of the body.
   *
   * @param refuse called if the body will not be complete; at once, if that is known already
   */
  beginBody(refuse: RefuseBody): void;
}

/**
 * Reads a body.
 *
 * @param maxLength the value of Content-Length; the limit if the body is chunked
 * @throws {ContractException} 413 if the body is too large, 503 if there is no room for it, 400 or 408 if it is incomplete
 */
export async function readBody(
  request: IncomingMessage & Partial<TimedBody>,
  maxLength: number,
  chargeBody: ChargeBody,
): Promise<Uint8Array> {
  // The client may have gone while the guard ran.
  if (request.destroyed) throw clientHasGone();
  const body = new BodyBuffer(maxLength, chargeBody);
  return new Promise((resolve, reject) => {
    const refuse: RefuseBody = (refusal) => {
      // The rest is discarded, because a client reads the answer only when it has sent everything.
      request.off('data', add).resume();
      // The listeners keep the body, and so the bytes, until the connection ends.
      body.free();
      reject(refusal);
    };
    const add = (chunk: Buffer): void => {
      const refusal = body.add(chunk);
      if (refusal !== undefined) refuse(refusal);
    };
    request.on('end', () => resolve(body.bytes()));
    request.on('close', () => {
      if (!request.readableEnded) reject(clientHasGone());
    });
    // Starts the stream. The service pauses the input while chunks have no such listener.
    request.on('data', add);
    request.beginBody?.(refuse);
  });
}

/** Collects the chunks of a body in one buffer: in a list, each would occupy hundreds of bytes, even for a single byte. */
class BodyBuffer {
  #buffer = Buffer.alloc(0);
  #length = 0;

  constructor(
    private readonly maxLength: number,
    private readonly chargeBody: ChargeBody,
  ) {}

  /** Adds a chunk, or returns why the body is refused. */
  add(chunk: Buffer): ContractException | undefined {
    const length = this.#length + chunk.length;
    // Node ends a body at its Content-Length, so only a chunked one can be too large.
    if (length > this.maxLength) return bodyTooLarge(this.maxLength);
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

  /** Makes the buffer long enough for twice the bytes. Returns false if Admission has no room for them. */
  #grow(length: number): boolean {
    const capacity = Math.min(Math.max(2 * length, MIN_CAPACITY), this.maxLength);
    if (!this.chargeBody(capacity - this.#buffer.length)) return false;
    // A slice of Buffer's pool would keep the whole pool in memory.
    const larger = Buffer.allocUnsafeSlow(capacity);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
    return true;
  }
}

/** Returns the refusal of a body whose declared or real length exceeds the limit in bytes. */
export function bodyTooLarge(limit: number): ContractException {
  return new ContractException(413, `The body is too large: at most ${limit} bytes are accepted.`);
}
