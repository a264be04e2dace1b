/** The share of the timeout for which a run in an outage is patient: 100 ms by default. */
const BRIEF = 1 / 50;

/**
 * What a repository remembers of a store that fails, so that clients do not wait for the whole timeout again and again:
 *
 * | the outage | when                                                               |
 * |------------|--------------------------------------------------------------------|
 * | begins     | a run fails with a transient error                                 |
 * | is over    | a run succeeds, or nothing has failed for as long as the timeout   |
 *
 * It changes only when a run ends: an attempt that succeeds after its run was given up is not seen.
 */
export class Outage {
  /** When the last run of this outage failed; -Infinity without one. */
  #lastFailure = -Infinity;

  /**
   * @param timeout milliseconds
   * @param isTransient returns whether another attempt may succeed after an error
   */
  constructor(
    private readonly timeout: number,
    private readonly isTransient: (error: unknown) => boolean,
  ) {}

  /**
   * Runs work that repeats its attempts.
   *
   * @param work is told the milliseconds after which no further attempt begins: the timeout, but in an outage a fiftieth of
   *   it, because the lock of another worker, which lasts a millisecond, must not fail a batch
   * @throws what the work throws
   */
  async run<Result>(work: (patience: number) => Promise<Result>): Promise<Result> {
    const isOver = performance.now() - this.#lastFailure > this.timeout;
    try {
      const result = await work(isOver ? this.timeout : this.timeout * BRIEF);
      this.#lastFailure = -Infinity;
      return result;
    } catch (error) {
      if (this.isTransient(error)) this.#lastFailure = performance.now();
      throw error;
    }
  }
}
