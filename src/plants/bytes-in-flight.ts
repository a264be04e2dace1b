import { Inject, Injectable } from '@nestjs/common';
import { ContractException } from '../contract/contract.exception.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from './resolve-options.js';

/** Maximum bytes of all bodies and plants: 64 MiB. */
const MAX_BYTES = 67_108_864;

/**
 * Counts the bytes of the bodies that are read and of the plants that wait for the store: from the guard to the answer.
 * Without this limit, clients with large plants would fill the memory.
 */
@Injectable()
export class BytesInFlight {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(@Inject(RESOLVED_OPTIONS) { bodyLimit }: Pick<ResolvedOptions, 'bodyLimit'>) {
    // A single body has room, however large it may be.
    this.#maxBytes = Math.max(MAX_BYTES, bodyLimit);
  }

  /** @throws {ContractException} 503 if there is no room for these bytes, which do not count then */
  add(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) throw new ContractException(503);
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}
