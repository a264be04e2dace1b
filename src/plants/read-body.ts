import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';

/** Bytes of the first buffer for a chunked body. */
const INITIAL_CAPACITY = 1_024;

/** Returns the value of Content-Length; undefined for a body of unknown length. */
export function declaredLength({ 'content-length': length }: IncomingHttpHeaders): number | undefined {
  return length === undefined ? undefined : Number(length);
}

/**
 * Checks the headers of a request that creates a plant.
 *
 * @param headers as the client sent them
 * @throws {ContractException} 417, 400 without a body, 415 or 413, in this order
 */
export function assertHeaders(request: IncomingMessage, headers: IncomingHttpHeaders, bodyLimit: number): void {
  assertExpectation(request);
  if (!hasBody(request, headers)) throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  assertJson(headers);
  if ((declaredLength(headers) ?? 0) > bodyLimit) throw bodyTooLarge(bodyLimit);
}

/** Refuses an expectation that is unknown (RFC 9110 §10.1.1). HTTP/1.0 has none. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
}

function hasBody({ httpVersionMajor }: IncomingMessage, headers: IncomingHttpHeaders): boolean {
  const length = declaredLength(headers);
  if (length !== undefined) return length > 0;
  // HTTP/2 frames a body of unknown length without any header (RFC 9113 §8.1).
  return httpVersionMajor > 1 || headers['transfer-encoding'] !== undefined;
}

function assertJson({
  'content-encoding': encoding = 'identity',
  'content-type': type = '',
}: IncomingHttpHeaders): void {
  // A content coding other than `identity` changes the media type (RFC 9110 §8.4).
  const isEncoded = encoding.toLowerCase() !== 'identity';
  if (isEncoded || !/^application\/json[ \t]*(?:;|$)/i.test(type)) throw new ContractException(415);
}

function bodyTooLarge(limit: number): ContractException {
  return new ContractException(413, `The body is too large: at most ${limit} bytes are accepted.`);
}

interface ReadingOptions {
  /** The declared length; undefined for a body of unknown length. */
  readonly length: number | undefined;
  /** Maximum bytes. */
  readonly limit: number;
  /** Called with the declared length or, if there is none, with the length of each chunk. What it throws refuses the body. */
  readonly count: (bytes: number) => void;
}

/**
 * Reads a body.
 *
 * @throws {ContractException} 413 if the body is too large; 400 if the client has disconnected, or has its answer already
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { length, limit, count }: ReadingOptions,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (length !== undefined) count(length);
    // All chunks are copied to one buffer: in a list, each would occupy hundreds of bytes, even for a single byte.
    let buffer = Buffer.allocUnsafe(length ?? INITIAL_CAPACITY);
    let end = 0;
    const refuse = (refusal: ContractException): void => {
      // The rest is discarded, because a client reads the answer only when it has sent everything.
      request.off('data', add).resume();
      // The listeners keep the body until the connection ends.
      buffer = Buffer.alloc(0);
      reject(refusal);
    };
    const refuseIncomplete = (): void => {
      refuse(new ContractException(400, 'The client has disconnected, or has its answer already.'));
    };
    // To make an exception for each body that has come would cost 15 µs (measured).
    const refuseUnlessEnded = (): void => {
      if (!request.readableEnded) refuseIncomplete();
    };
    const add = (chunk: Buffer): void => {
      const newEnd = end + chunk.length;
      try {
        if (newEnd > limit) throw bodyTooLarge(limit);
        if (length === undefined) count(chunk.length);
      } catch (error) {
        refuse(error as ContractException);
        return;
      }
      if (newEnd > buffer.length) buffer = Buffer.concat([buffer], 2 * newEnd);
      chunk.copy(buffer, end);
      end = newEnd;
    };
    // A guard may have waited, and a host, or a time limit of the service, may have answered meanwhile.
    const isLost = (): boolean => request.destroyed || response.headersSent;
    if (isLost()) {
      refuseIncomplete();
      return;
    }
    request.on('data', add);
    request.once('end', () => (isLost() ? refuseIncomplete() : resolve(buffer.subarray(0, end))));
    // Node closes the response alone if the body ends early, or gets error 408.
    request.once('close', refuseUnlessEnded);
    response.once('close', refuseUnlessEnded);
  });
}
