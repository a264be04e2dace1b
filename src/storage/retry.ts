import { setTimeout as wait } from 'node:timers/promises';

/** How work is repeated. */
interface RetryOptions {
  /** Milliseconds after which no further attempt begins. */
  readonly patience: number;
  /** Returns whether another attempt may succeed. */
  readonly isTransient: (error: unknown) => boolean;
  /** Returns the milliseconds between two attempts. */
  readonly pause: () => number;
  /** Called with each transient error, and the milliseconds since the first attempt began. */
  readonly onFailure?: (error: unknown, lasted: number) => void;
}

/**
 * Repeats work until it succeeds.
 *
 * @throws the error of the last attempt
 */
export async function retry<Result>(
  work: () => Result | Promise<Result>,
  { patience, isTransient, pause, onFailure }: RetryOptions,
): Promise<Result> {
  const began = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error)) throw error;
      const lasted = performance.now() - began;
      onFailure?.(error, lasted);
      const rest = pause();
      if (lasted + rest >= patience) throw error;
      await wait(rest);
    }
  }
}

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
