import type { IncomingMessage } from 'node:http';
import { ContractException } from '../../contract/contract.exception.js';

/** The least capacity of a buffer for a body that arrives in parts. */
const MIN_CAPACITY = 1_024;

/** Reserves memory, and returns whether there was room for it. */
type Charge = (bytes: number) => boolean;

/**
 * Takes a body that has arrived completely, as most have when the guard has verified the token.
 *
 * @param length the value of Content-Length
 * @returns undefined if a part of the body has yet to arrive
 * @throws {ContractException} 503 if there is no room for it, 400 or 408 if it will be incomplete
 */
export function takeBody(request: IncomingMessage, length: number | undefined, charge: Charge): Uint8Array | undefined {
  if (request.destroyed) throw incompleteBecauseOf(request.errored);
  if (!request.complete || length !== request.readableLength) return undefined;
  if (!charge(length)) throw new ContractException(503);
  // The length is needed: without it, `read` returns the first chunk alone on Node 26.
  const body = request.read(length) as Uint8Array;
  // Lets the stream end.
  request.read(0);
  return body;
}

/**
 * Collects a body that has yet to arrive, after `takeBody`. Copies the chunks into one buffer, which grows with them: a list
 * of chunks would occupy hundreds of bytes for each, which may be a single byte.
 *
 * @param maxLength the value of Content-Length, or the greatest length
 * @throws {ContractException} 413 if the body is too large, 503 if there is no room for it, 400 or 408 if it is incomplete
 */
export async function collectBody(request: IncomingMessage, maxLength: number, charge: Charge): Promise<Uint8Array> {
  let buffer = Buffer.alloc(0);
  let length = 0;
  const makeRoom = (needed: number): boolean => {
    if (needed <= buffer.length) return true;
    const capacity = Math.min(Math.max(2 * needed, MIN_CAPACITY), maxLength);
    if (!charge(capacity - buffer.length)) return false;
    // Not from Buffer's pool: a slice would keep the whole pool in memory.
    const larger = Buffer.allocUnsafeSlow(capacity);
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
    return true;
  };
  return new Promise((resolve, reject) => {
    const add = (chunk: Buffer): void => {
      if (length + chunk.length > maxLength) fail(bodyTooLarge(maxLength));
      else if (!makeRoom(length + chunk.length)) fail(new ContractException(503));
      else length += chunk.copy(buffer, length);
    };
    const fail = (exception: ContractException): void => {
      // The listeners below live until the connection ends, and would keep it.
      buffer = Buffer.alloc(0);
      // Discard the rest: a client that is still sending does not read the answer.
      request.off('data', add).resume();
      reject(exception);
    };
    const failIncomplete = (): void => {
      if (!request.readableEnded) fail(incompleteBecauseOf(request.errored));
    };
    request.on('end', () => resolve(buffer.subarray(0, length)));
    request.on('error', failIncomplete).on('close', failIncomplete);
    // The last listener, because it starts the stream.
    request.on('data', add);
  });
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
