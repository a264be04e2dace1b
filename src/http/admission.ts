/** Requests whose body is read, or waits to be stored, at the same time; more would only wait for each other. */
const MAX_REQUESTS = 1_024;

/** Bytes of all these bodies together; of large ones, at least two. */
const MAX_BYTES = 67_108_864;

/** Bounds what is kept in memory on behalf of clients. */
export class Admission {
  #requests = 0;
  #bytes = 0;
  readonly #maxBytes: number;

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /** Whether there is room for one request more, which must leave in the end. */
  enter(): boolean {
    if (this.#requests >= MAX_REQUESTS || this.#bytes >= this.#maxBytes) return false;
    this.#requests += 1;
    return true;
  }

  /** Whether there was room for so many bytes more. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.#maxBytes;
  }

  /** @param bytes all that the request took */
  leave(bytes: number): void {
    this.#requests -= 1;
    this.#bytes -= bytes;
  }
}
