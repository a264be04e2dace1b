import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';

/** Maximum bytes of all bodies that are being read: 64 MiB. */
const MAX_RESERVED = 67_108_864;

/** Bytes of the first buffer for a body in chunks. */
const FIRST_CAPACITY = 1_024;

/** Returns whether the headers of a request announce a body (RFC 9112 §6). */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Checks the headers of a request that creates a plant.
 *
 * @param headers as the client sent them
 * @throws {ContractException} 417, 400 without a body, 415 or 413, in this order
 */
export function assertHeaders(request: IncomingMessage, headers: IncomingHttpHeaders, bodyLimit: number): void {
  assertExpectation(request);
  if (!hasBody(headers)) throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  assertJson(headers);
  if (Number(headers['content-length'] ?? 0) > bodyLimit) throw bodyTooLarge(bodyLimit);
}

/** Refuses an expectation that is unknown (RFC 9110 §10.1.1). HTTP/1.0 has none. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
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

/** Makes the refusal of a body that has not come whole, or whose request has its answer already, such as error 408. */
export function bodyIsLost(): ContractException {
  return new ContractException(400, 'The client has disconnected, or has its answer already.');
}

/**
 * Reads the bodies of requests. A body reserves its declared length or, if it has none, the size of its buffer. Without
 * the limit for all together, clients with large plants would fill the memory.
 */
export class BodyReader {
  readonly #maxReserved: number;
  #reserved = 0;

  /** @param limit maximum bytes of one body */
  constructor(private readonly limit: number) {
    // A single body has room, however large it may be.
    this.#maxReserved = Math.max(MAX_RESERVED, limit);
  }

  /**
   * Reads the body of a request.
   *
   * @param headers as the client sent them
   * @throws {ContractException} 503 if there is no room for the body; 413 if it is too large; 400 if the client has
   *   disconnected, or has its answer already
   */
  async read(request: IncomingMessage, response: ServerResponse, headers: IncomingHttpHeaders): Promise<Uint8Array> {
    // The client may have disconnected while a guard waited: then the stream has no further events.
    if (request.destroyed) throw bodyIsLost();
    // A body in chunks does not declare its length.
    const capacity = Number(headers['content-length'] ?? FIRST_CAPACITY);
    this.#reserve(capacity);
    // One buffer, because in a list each chunk would occupy hundreds of bytes, even for a single byte.
    let buffer = Buffer.allocUnsafe(capacity);
    let length = 0;
    const append = (chunk: Buffer): void => {
      const end = length + chunk.length;
      if (end > this.limit) throw bodyTooLarge(this.limit);
      if (end > buffer.length) {
        const larger = Math.min(2 * end, this.limit);
        this.#reserve(larger - buffer.length);
        // A larger buffer, which begins with the bytes of this one.
        buffer = Buffer.concat([buffer], larger);
      }
      chunk.copy(buffer, length);
      length = end;
    };
    try {
      await forEachChunk(request, response, append);
      if (!request.readableEnded || response.headersSent) throw bodyIsLost();
      return buffer.subarray(0, length);
    } finally {
      this.#reserved -= buffer.length;
      // Frees the bytes: until the answer, the listeners of the request keep `append` and so this variable.
      buffer = Buffer.alloc(0);
    }
  }

  #reserve(bytes: number): void {
    if (this.#reserved + bytes > this.#maxReserved) throw new ContractException(503);
    this.#reserved += bytes;
  }
}

/**
 * Passes each chunk of a body to `take`, and resolves when there are no more: at the end, or when the client or the
 * answer ends first. An async iterator of the stream would wait for ever where Node closes the response alone: if the
 * body ends early, or gets error 408.
 *
 * @param take may throw, and then gets no further chunks; the stream discards them
 */
function forEachChunk(
  request: IncomingMessage,
  response: ServerResponse,
  take: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject: (error: Error) => void) => {
    const onData = (chunk: Buffer): void => {
      try {
        take(chunk);
      } catch (error) {
        request.off('data', onData);
        reject(error as Error);
      }
    };
    const onEnd = (): void => {
      request.off('data', onData);
      resolve();
    };
    request.on('data', onData).once('end', onEnd).once('close', onEnd);
    response.once('close', onEnd);
  });
}
