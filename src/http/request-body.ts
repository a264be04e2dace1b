import type { ServerResponse } from 'node:http';
import { ContractException } from '../errors/contract.exception.js';
import type { PublicRequest } from './public-request.js';

/**
 * The bytes of a body, read when they are awaited and not before: Nest's guards run after Fastify has the body, and a
 * stranger's is not worth reading. Nest awaits what `@Body()` yields before the pipes see it.
 */
export class RequestBody implements PromiseLike<Uint8Array> {
  #bytes: Promise<Uint8Array> | undefined;

  /** @param limit the greatest length, in bytes */
  constructor(
    private readonly request: PublicRequest,
    private readonly response: ServerResponse,
    private readonly limit: number,
  ) {}

  then<A = Uint8Array, B = never>(
    onFulfilled?: ((value: Uint8Array) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#bytes ??= read(this.request, this.response, this.limit);
    return this.#bytes.then(onFulfilled, onRejected);
  }
}

/** @throws {ContractException} in the order of checks: 417, 400 where there is no body, 415, 413 */
async function read(request: PublicRequest, response: ServerResponse, limit: number): Promise<Uint8Array> {
  const { headers } = request;
  // HTTP/1.0 knows no expectations (RFC 9110 §10.1.1).
  if (
    headers.expect !== undefined &&
    headers.expect.toLowerCase() !== '100-continue' &&
    request.httpVersion !== '1.0'
  ) {
    throw new ContractException(417);
  }
  const length = Number(headers['content-length'] ?? 0);
  if (length === 0 && headers['transfer-encoding'] === undefined) {
    throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  }
  if (
    !/^application\/json[ \t]*(?:;|$)/i.test(headers['content-type'] ?? '') ||
    isEncoded(headers['content-encoding'])
  ) {
    throw new ContractException(415);
  }
  if (length > limit) throw tooLarge(limit);
  if (request.awaitsContinue) response.writeContinue();
  return collect(request, limit);
}

/** A content coding (RFC 9110 §8.4) makes another media type of the body; `identity` is none. */
function isEncoded(coding: string | undefined): boolean {
  return coding !== undefined && coding.toLowerCase() !== 'identity';
}

function collect(request: PublicRequest, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (request.failure !== undefined) {
      reject(request.failure);
      return;
    }
    let chunks: Uint8Array[] = [];
    let length = 0;
    request.on('data', (chunk: Uint8Array) => {
      length += chunk.length;
      if (length <= limit) {
        chunks.push(chunk);
      } else {
        // The rest is read on, so that the client is there to read the answer, and thrown away.
        chunks = [];
        reject(tooLarge(limit));
      }
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('failure', reject);
    request.on('close', () =>
      reject(new ContractException(400, 'The connection was closed before the body was complete.')),
    );
  });
}

function tooLarge(limit: number): ContractException {
  return new ContractException(413, `The body is too large: at most ${limit} bytes are taken.`);
}
