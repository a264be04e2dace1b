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

/**
 * Copies the chunks into one buffer, which grows with them: a list of chunks would occupy hundreds of bytes for each,
 * which may be a single byte.
 */
function collect(request: BodySource, maxLength: number, charge: Charge): Promise<Uint8Array> {
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
      if (length + chunk.length > maxLength) fail(new BodyTooLargeException(maxLength));
      else if (!makeRoom(length + chunk.length)) fail(new ContractException(503));
      else length += chunk.copy(buffer, length);
    };
    const fail = (exception: ContractException): void => {
      // Discard the rest: a client that is still sending does not read the answer.
      request.off('data', add).resume();
      reject(exception);
    };
    const failIncomplete = (): void => {
      if (!request.readableEnded) fail(new BodyIncompleteException());
    };
    request.on('end', () => resolve(buffer.subarray(0, length)));
    request.on('bodyError', fail).on('error', failIncomplete).on('close', failIncomplete);
    // The last listener, because it starts the stream.
    request.on('data', add);
  });
}
