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

  /**
   * @param timeout milliseconds
   * @param isTransient returns whether an error begins an outage
   */
  constructor(
    private readonly timeout: number,
    private readonly isTransient: (error: unknown) => boolean,
  ) {}

  /**
   * Runs a batch, whose end may begin, prolong or end the outage.
   *
   * @param batch gets the milliseconds after which no further attempt of it begins
   */
  async run<Result>(batch: (retryFor: number) => Promise<Result>): Promise<Result> {
    try {
      const result = await batch(this.#retryFor);
      this.#lastFailure = -Infinity;
      return result;
    } catch (error) {
      if (this.isTransient(error)) this.#lastFailure = performance.now();
      throw error;
    }
  }

  /**
   * The timeout, or a fiftieth of it during an outage. The fiftieth is not zero, because another worker's lock lasts a
   * millisecond and must not fail a batch.
   */
  get #retryFor(): number {
    const isOver = performance.now() - this.#lastFailure > this.timeout;
    return isOver ? this.timeout : this.timeout * OUTAGE_SHARE;
  }
}
