import { ContractException } from '../contract/contract.exception.js';

/** Requests in flight: those whose body is being read, and those that wait for the store. */
const MAX_REQUESTS = 1_024;

/** Bytes of all their bodies. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 67_108_864;

/** Bounds the memory that requests in flight occupy. */
export class Admission {
  #requests = 0;
  #bytes = 0;
  readonly #maxBytes: number;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Admits a request, which must `leave` again.
   *
   * @throws {ContractException} 503 if there are too many
   */
  enter(): void {
    if (this.#requests >= MAX_REQUESTS || this.#bytes >= this.#maxBytes) throw new ContractException(503);
    this.#requests += 1;
  }

  /** Charges bytes to an admitted request, and returns whether there was room for them. */
  charge(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.#maxBytes;
  }

  /** @param bytes all that the request was charged */
  leave(bytes: number): void {
    this.#requests -= 1;
    this.#bytes -= bytes;
  }
}
