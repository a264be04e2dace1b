import { setTimeout as wait } from 'node:timers/promises';
import { NoAnswerError } from './errors.js';

/** How a kind of work is repeated. */
interface RetryOptions {
  /** Returns whether another attempt may succeed. */
  readonly isTransient: (error: unknown) => boolean;
  /** Returns the milliseconds between two attempts. */
  readonly pause: () => number;
}

/** The time in which work fails. */
interface Outage {
  /** When the run began that was the first to fail. */
  readonly since: number;
  readonly lastFailure: number;
}

/**
 * Runs work again until it succeeds. Each kind of work has a Retry of its own, which remembers its outage:
 *
 * | state       | the work                                                      | if it fails now                  |
 * |-------------|---------------------------------------------------------------|----------------------------------|
 * | no outage   | succeeded last, or has not failed for the patience            | an outage begins; it tries again |
 * | outage      | has failed for less than the patience                         | it tries again                   |
 * | long outage | has failed for the patience, or will have at the next attempt | it gives up, and so fails fast   |
 *
 * Work that runs at the same time shares the outage.
 */
export class Retry {
  /** Undefined without an outage. */
  #outage: Outage | undefined;

  /** @param patience milliseconds until an outage is long, and without a failure until it is over */
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
    const began = performance.now();
    this.#forgetOldOutage(began);
    for (;;) {
      try {
        const result = await work();
        this.#outage = undefined;
        return result;
      } catch (error) {
        // A batch that gave up long ago must not begin an outage.
        const isLate = performance.now() - began > this.patience;
        if (isLate || !this.options.isTransient(error)) throw error;
        const lasted = this.#noteFailure(began);
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

  /** Begins the outage with the run that has failed, or extends it, and returns the milliseconds since its begin. */
  #noteFailure(began: number): number {
    const now = performance.now();
    this.#outage = { since: this.#outage?.since ?? began, lastFailure: now };
    return now - this.#outage.since;
  }
}
