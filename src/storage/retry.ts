import { setTimeout as wait } from 'node:timers/promises';

/** The options of `retry`. */
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

/** Share of the timeout that a run gets during an outage: 100 ms by default. */
const OUTAGE_SHARE = 1 / 50;

/**
 * Remembers that a store fails, so that clients do not wait for the whole timeout again and again:
 *
 * | the outage | when                                                               |
 * |------------|--------------------------------------------------------------------|
 * | begins     | a run fails with a transient error                                 |
 * | is over    | a run succeeds, or nothing has failed for as long as the timeout   |
 *
 * Only the end of a run begins or ends an outage. An attempt that succeeds after its run was given up does not.
 */
export class Outage {
  /** When the last run of this outage failed; -Infinity without an outage. */
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
   * @param work gets the milliseconds after which no further attempt begins: the timeout, or a fiftieth of it during an
   *   outage. The fiftieth is not zero, because another worker's lock lasts a millisecond and must not fail a batch.
   * @throws what the work throws
   */
  async run<Result>(work: (patience: number) => Promise<Result>): Promise<Result> {
    const isOver = performance.now() - this.#lastFailure > this.timeout;
    try {
      const result = await work(isOver ? this.timeout : this.timeout * OUTAGE_SHARE);
      this.#lastFailure = -Infinity;
      return result;
    } catch (error) {
      if (this.isTransient(error)) this.#lastFailure = performance.now();
      throw error;
    }
  }
}
