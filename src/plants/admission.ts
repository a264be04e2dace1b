import { ContractException } from '../contract/contract.exception.js';

/** Requests in flight: their body is being read, they wait for the store, or their call of `onPlantCreated` runs. */
const MAX_REQUESTS = 2_048;

/** Bytes of all their bodies. The limit is higher if two bodies of the greatest length would not fit. */
const MAX_BYTES = 25_165_824;

/** The places and the memory of the requests in flight of one principal, or of all requests. */
interface Share {
  requests: number;
  bytes: number;
}

/**
 * Bounds the memory that requests in flight occupy.
 *
 * A principal gets no more than it leaves free: at most half, or a third beside another one that takes all it gets. One
 * principal thus leaves room for others; it takes twelve to fill everything. Requests without a principal have no share.
 */
export class Admission {
  readonly #maxBytes: number;
  readonly #total: Share = { requests: 0, bytes: 0 };
  /** By the name of the principal; only principals with requests in flight have one. */
  readonly #shares = new Map<string, Share>();
  #isClosed = false;
  /** Resolve functions of the `settled()` calls that wait for the last request. */
  #settledListeners: (() => void)[] = [];

  /** @param bodyLimit the greatest length of one body, in bytes */
  constructor(readonly bodyLimit: number) {
    this.#maxBytes = Math.max(MAX_BYTES, 2 * bodyLimit);
  }

  /**
   * Admits a request, which must `leave` again.
   *
   * @param principal its name; undefined if the host authenticates
   * @throws {ContractException} 503 if there are too many, and after `close`
   */
  enter(principal: string | undefined): void {
    if (this.#isClosed) throw new ContractException(503);
    const { requests, bytes } = this.#shareOf(principal);
    if (this.#total.requests + requests >= MAX_REQUESTS || this.#total.bytes + bytes >= this.#maxBytes) {
      throw new ContractException(503);
    }
    this.#add(principal, 1, 0);
  }

  /** Charges bytes to an admitted request, and returns whether there was room for them. */
  charge(principal: string | undefined, bytes: number): boolean {
    this.#add(principal, 0, bytes);
    return this.#total.bytes + this.#shareOf(principal).bytes <= this.#maxBytes;
  }

  /** @param bytes all that the request was charged */
  leave(principal: string | undefined, bytes: number): void {
    this.#add(principal, -1, -bytes);
    if (this.isIdle) for (const resolve of this.#settledListeners.splice(0)) resolve();
  }

  /** True if no request is in flight. */
  get isIdle(): boolean {
    return this.#total.requests === 0;
  }

  /** Resolves when no request is in flight. */
  settled(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#settledListeners.push(resolve));
  }

  /** Admits no further request. */
  close(): void {
    this.#isClosed = true;
  }

  #add(principal: string | undefined, requests: number, bytes: number): void {
    this.#total.requests += requests;
    this.#total.bytes += bytes;
    if (principal === undefined) return;
    const share = this.#shareOf(principal);
    share.requests += requests;
    share.bytes += bytes;
    if (share.requests === 0) this.#shares.delete(principal);
    else this.#shares.set(principal, share);
  }

  #shareOf(principal: string | undefined): Share {
    const share = principal === undefined ? undefined : this.#shares.get(principal);
    return share ?? { requests: 0, bytes: 0 };
  }
}
