import { setTimeout as wait } from 'node:timers/promises';
import { NoAnswerError } from './errors.js';

/** How a kind of work is repeated. */
interface RetryOptions {
  /** Returns whether another attempt may succeed. */
  readonly isTransient: (error: unknown) => boolean;
  /** Returns the milliseconds between two attempts. */
  readonly pause: () => number;
}

/** A time in which work fails, over one run or several. */
interface Outage {
  /** When its first run began. */
  readonly since: number;
  readonly lastFailure: number;
}

/**
 * Runs work again until it succeeds. Each kind of work has a Retry of its own, whose runs share an outage:
 *
 * | the outage         | when                                                                              |
 * |--------------------|-----------------------------------------------------------------------------------|
 * | begins             | an attempt of a run fails: it lasts since this run began                          |
 * | ends the run       | it has lasted for the patience; so each further run is one attempt, and fails fast |
 * | is over            | a run succeeds, or nothing has failed for the patience                            |
 */
export class Retry {
  /** Undefined while the work succeeds. */
  #outage: Outage | undefined;

  /** @param patience milliseconds */
  constructor(
    private readonly patience: number,
    private readonly options: RetryOptions,
  ) {}

  /**
   * @param onFailure called with each transient error, and the milliseconds since the outage began
   * @throws the error of the last attempt
   */
  async run<Result>(
    work: () => Result | Promise<Result>,
    onFailure?: (error: unknown, lasted: number) => void,
  ): Promise<Result> {
    const runBegan = performance.now();
    this.#forgetOldOutage(runBegan);
    for (;;) {
      try {
        const result = await work();
        this.#outage = undefined;
        return result;
      } catch (error) {
        const failed = performance.now();
        if (!this.options.isTransient(error)) throw error;
        // `runInTime` has given up on this attempt: it must not shorten the next run.
        if (failed - runBegan > this.patience) throw error;
        this.#outage = { since: this.#outage?.since ?? runBegan, lastFailure: failed };
        const lasted = failed - this.#outage.since;
        onFailure?.(error, lasted);
        const pause = this.options.pause();
        if (lasted + pause >= this.patience) throw error;
        await wait(pause);
      }
    }
  }

  /**
   * Runs work as `run` does, but takes no longer than the patience: it also gives up while an attempt goes on, whose
   * outcome is unknown then.
   *
   * @throws the error of the last attempt that has ended; {NoAnswerError} if none has
   */
  async runInTime<Result>(work: () => Promise<Result>): Promise<Result> {
    let lastError: Error = new NoAnswerError(this.patience);
    const noteError = (error: unknown): void => {
      lastError = error as Error;
    };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(lastError), this.patience);
    });
    return Promise.race([this.run(work, noteError), late]).finally(() => clearTimeout(timer));
  }

  #forgetOldOutage(now: number): void {
    if (this.#outage !== undefined && now - this.#outage.lastFailure > this.patience) this.#outage = undefined;
  }
}
