import type { ServerResponse } from 'node:http';
import { ContractException } from '../errors/contract.exception.js';
import type { Admission } from './admission.js';
import { tooLarge } from '../plants/plant-request.js';
import type { BodyReader, PublicRequest } from './public-request.js';

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

  /** @throws {ContractException} 413, 503, and 400 where the rest does not come */
  #read(): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (Number(this.request.headers['content-length'] ?? 0) > this.limit) throw tooLarge(this.limit);
      this.#admitted = this.admission.enter();
      if (!this.#admitted) throw new ContractException(503);
      if (this.request.awaitsContinue) this.response.writeContinue();
      this.request.readBody(this.#readerFor(resolve, reject));
    });
  }

  #readerFor(resolve: (bytes: Uint8Array) => void, reject: (reason: ContractException) => void): BodyReader {
    let chunks: Uint8Array[] = [];
    return {
      chunk: (bytes) => {
        // Of a body that is refused already the rest is read on, so that the client is there to read the answer.
        if (!this.#admitted) return;
        chunks.push(bytes);
        this.#taken += bytes.length;
        const room = this.admission.take(bytes.length);
        if (room && this.#taken <= this.limit) return;
        chunks = [];
        reject(room ? tooLarge(this.limit) : new ContractException(503));
      },
      end: (exception) => {
        if (exception !== undefined) reject(exception);
        else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
      },
    };
  }
}
