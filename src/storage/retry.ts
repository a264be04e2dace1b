import { setTimeout as wait } from 'node:timers/promises';

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
 * | state       | the work                                          | if it fails now                  |
 * |-------------|---------------------------------------------------|----------------------------------|
 * | no outage   | succeeded last, or has not failed for the timeout | an outage begins; it tries again |
 * | outage      | has failed for no longer than the timeout         | it tries again                   |
 * | long outage | has failed for longer than the timeout            | it gives up, and so fails fast   |
 *
 * Work that runs at the same time shares the outage.
 */
export class Retry {
  /** Undefined without an outage. */
  #outage: Outage | undefined;

  /** @param timeout milliseconds until an outage is long */
  constructor(
    private readonly timeout: number,
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
        // A run that took longer than the timeout is no sign of an outage: later work may have succeeded since.
        const tookTooLong = performance.now() - began > this.timeout;
        if (tookTooLong || !this.options.isTransient(error)) throw error;
        const lasted = this.#noteFailure(began);
        onFailure?.(error, lasted);
        const pause = this.options.pause();
        if (lasted + pause >= this.timeout) throw error;
        await wait(pause);
      }
    }
  }

  #forgetOldOutage(now: number): void {
    if (this.#outage !== undefined && now - this.#outage.lastFailure > this.timeout) this.#outage = undefined;
  }

  /** Notes a failure of a run that began then, and returns for how many milliseconds the outage has lasted. */
  #noteFailure(began: number): number {
    const lastFailure = performance.now();
    this.#outage = { since: this.#outage?.since ?? began, lastFailure };
    return lastFailure - this.#outage.since;
  }
}
