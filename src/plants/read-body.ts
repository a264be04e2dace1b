import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ContractException } from '../contract/contract.exception.js';
import type { GroupCommit } from '../storage/group-commit.js';

/** Maximum bytes of all bodies that are being read, and of the plants that wait for the store: 64 MiB. */
const MAX_BYTES = 67_108_864;

/** Bytes of the first buffer for a chunked body. */
const INITIAL_CAPACITY = 1_024;

/** Returns the value of Content-Length; undefined for a chunked body. */
function declaredLength({ 'content-length': length }: IncomingHttpHeaders): number | undefined {
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
  const length = declaredLength(headers);
  const hasBody = length === undefined ? headers['transfer-encoding'] !== undefined : length > 0;
  if (!hasBody) throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  assertJson(headers);
  if (length !== undefined && length > bodyLimit) throw bodyTooLarge(bodyLimit);
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

/**
 * Reads the bodies of requests. A body counts with its declared length or, if it has none, with what has arrived of it.
 * Without the limit for all together, clients with large plants would fill the memory.
 */
export class BodyReader {
  readonly #maxBytes: number;
  #bytes = 0;

  /**
   * @param limit maximum bytes of one body
   * @param groupCommit has the plants that wait
   */
  constructor(
    private readonly limit: number,
    private readonly groupCommit: Pick<GroupCommit, 'waitingLength'>,
  ) {
    // A single body has room, however large it may be.
    this.#maxBytes = Math.max(MAX_BYTES, limit);
  }

  /**
   * Reads the body of a request.
   *
   * @param headers as the client sent them
   * @throws {ContractException} 503 if there is no room for the body; 413 if it is too large; 400 if the client has
   *   disconnected, or has its answer already
   */
  async read(request: IncomingMessage, response: ServerResponse, headers: IncomingHttpHeaders): Promise<Uint8Array> {
    const length = declaredLength(headers);
    let counted = 0;
    const count = (bytes: number): void => {
      if (this.#bytes + this.groupCommit.waitingLength + bytes > this.#maxBytes) throw new ContractException(503);
      this.#bytes += bytes;
      counted += bytes;
    };
    try {
      if (length !== undefined) count(length);
      return await collect(request, response, length ?? INITIAL_CAPACITY, (chunk, end) => {
        if (end > this.limit) throw bodyTooLarge(this.limit);
        if (length === undefined) count(chunk.length);
      });
    } finally {
      this.#bytes -= counted;
    }
  }
}

/**
 * Copies all chunks to one buffer: in a list, each would occupy hundreds of bytes, even for a single byte.
 *
 * @param admit called with each chunk and the length of the body up to its end; what it throws refuses the body
 */
function collect(
  request: IncomingMessage,
  response: ServerResponse,
  capacity: number,
  admit: (chunk: Buffer, end: number) => void,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let buffer = Buffer.allocUnsafe(capacity);
    let length = 0;
    const add = (chunk: Buffer): void => {
      const end = length + chunk.length;
      try {
        admit(chunk, end);
      } catch (error) {
        refuse(error as ContractException);
        return;
      }
      if (end > buffer.length) buffer = Buffer.concat([buffer], 2 * end);
      chunk.copy(buffer, length);
      length = end;
    };
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
    // A guard may have waited, and a host, or a time limit of the service, may have answered meanwhile.
    const isLost = (): boolean => request.destroyed || response.headersSent;
    if (isLost()) {
      refuseIncomplete();
      return;
    }
    request.on('data', add);
    request.once('end', () => (isLost() ? refuseIncomplete() : resolve(buffer.subarray(0, length))));
    // Node closes the response alone if the body ends early, or gets error 408.
    request.once('close', refuseUnlessEnded);
    response.once('close', refuseUnlessEnded);
  });
}
