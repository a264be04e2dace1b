import type { ServerResponse } from 'node:http';
import { ContractException } from '../errors/contract.exception.js';
import type { Admission } from './admission.js';
import type { PublicRequest } from './public-request.js';

/**
 * The bytes of a body, read when they are awaited and not before: Nest's guards run after Fastify has the body, and a
 * stranger's is not worth reading. Nest awaits what `@Body()` yields before the pipes see it.
 */
export class RequestBody implements PromiseLike<Uint8Array> {
  #bytes: Promise<Uint8Array> | undefined;
  #admitted = false;
  #taken = 0;

  /** @param limit the greatest length, in bytes */
  constructor(
    private readonly request: PublicRequest,
    private readonly response: ServerResponse,
    private readonly limit: number,
    private readonly admission: Admission,
  ) {}

  then<A = Uint8Array, B = never>(
    onFulfilled?: ((value: Uint8Array) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#bytes ??= this.#read();
    return this.#bytes.then(onFulfilled, onRejected);
  }

  /** Gives back the room that the body took, when the request is answered. */
  release(): void {
    if (!this.#admitted) return;
    this.#admitted = false;
    this.admission.leave(this.#taken);
  }

  /** @throws {ContractException} in the order of checks: 417, 400 where there is no body, 415, 413, 503 */
  async #read(): Promise<Uint8Array> {
    assertReadable(this.request, this.limit);
    this.#admitted = this.admission.enter();
    if (!this.#admitted) throw new ContractException(503);
    if (this.request.awaitsContinue) this.response.writeContinue();
    return this.#collect();
  }

  #collect(): Promise<Uint8Array> {
    const { request, limit } = this;
    return new Promise((resolve, reject) => {
      const gone = new ContractException(400, 'The connection was closed before the body was complete.');
      if (request.failure !== undefined || request.destroyed) {
        reject(request.failure ?? gone);
        return;
      }
      let chunks: Uint8Array[] = [];
      request.on('data', (chunk: Uint8Array) => {
        // Of a body that is refused already the rest is read on, so that the client is there to read the answer.
        if (!this.#admitted) return;
        chunks.push(chunk);
        this.#taken += chunk.length;
        const room = this.admission.take(chunk.length);
        if (room && this.#taken <= limit) return;
        chunks = [];
        reject(room ? tooLarge(limit) : new ContractException(503));
      });
      request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
      request.on('failure', reject);
      request.on('close', () => reject(gone));
    });
  }
}

/** @throws {ContractException} where the headers alone say that the body is not to be read */
function assertReadable({ headers, httpVersion }: PublicRequest, limit: number): void {
  // HTTP/1.0 knows no expectations (RFC 9110 §10.1.1).
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
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
}

/** A content coding (RFC 9110 §8.4) makes another media type of the body; `identity` is none. */
function isEncoded(coding: string | undefined): boolean {
  return coding !== undefined && coding.toLowerCase() !== 'identity';
}

function tooLarge(limit: number): ContractException {
  return new ContractException(413, `The body is too large: at most ${limit} bytes are taken.`);
}
