import type { ServerResponse } from 'node:http';
import { ContractException } from '../errors/contract.exception.js';
import type { Admission } from './admission.js';
import { gone, tooLarge } from '../plants/plant-request.js';
import type { PublicRequest } from './public-request.js';

/**
 * The bytes of a body, read when they are awaited and not before: Nest's guards run after Fastify has the body, and a
 * stranger's is not worth reading. `bodyOf` hands it to the handler, which awaits it.
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

  /** @throws {ContractException} 413, 503 */
  async #read(): Promise<Uint8Array> {
    if (Number(this.request.headers['content-length'] ?? 0) > this.limit) throw tooLarge(this.limit);
    this.#admitted = this.admission.enter();
    if (!this.#admitted) throw new ContractException(503);
    if (this.request.awaitsContinue) this.response.writeContinue();
    return this.#collect();
  }

  #collect(): Promise<Uint8Array> {
    const { request, limit } = this;
    return new Promise((resolve, reject) => {
      if (request.failure !== undefined || request.destroyed) {
        reject(request.failure ?? gone());
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
      request.on('close', () => {
        // Every request closes, and an error costs as much as all the rest of this.
        if (!request.readableEnded) reject(gone());
      });
    });
  }
}
