/** Share of the timeout for which a batch is retried during an outage: 100 ms by default. */
const OUTAGE_SHARE = 1 / 50;

/**
 * Remembers that a store fails, so that clients do not wait for the whole timeout again and again:
 *
 * | the outage | when                                                               |
 * |------------|--------------------------------------------------------------------|
 * | begins     | a batch fails with a transient error                               |
 * | is over    | a batch succeeds, or none has failed for as long as the timeout    |
 *
 * Only the end of a batch begins or ends an outage. An attempt that succeeds after its batch was given up does not.
 */
export class Outage {
  /** When the last batch of this outage failed; -Infinity without an outage. */
  #lastFailure = -Infinity;

  /** @param timeout milliseconds */
  constructor(private readonly timeout: number) {}

  /**
   * Milliseconds after which no further attempt of a batch begins: the timeout, or a fiftieth of it during an outage. The
   * fiftieth is not zero, because another worker's lock lasts a millisecond and must not fail a batch.
   */
  get retryFor(): number {
    const isOver = performance.now() - this.#lastFailure > this.timeout;
    return isOver ? this.timeout : this.timeout * OUTAGE_SHARE;
  }

  /** Ends the outage: a batch has succeeded. */
  succeeded(): void {
    this.#lastFailure = -Infinity;
  }

  /** Begins or prolongs the outage: a batch has failed with a transient error. */
  failed(): void {
    this.#lastFailure = performance.now();
  }
}
