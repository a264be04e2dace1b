import { setTimeout } from 'node:timers/promises';

/**
 * How a repository handles an error of its database: `transient` errors are retried until the timeout; `unavailable`
 * means that no plant can be stored until an operator acts, for example on a full disk. Other errors are defects.
 */
export type Failure = 'transient' | 'unavailable';

export class Retry {
  /** Time of the first failure since the last success. */
  #failingSince: number | undefined;

  /**
   * @param isTransient returns whether another attempt may succeed
   * @param pause returns the milliseconds between two attempts
   */
  constructor(
    private readonly isTransient: (error: unknown) => boolean,
    private readonly pause: () => number,
  ) {}

  /**
   * Runs `work` until it succeeds.
   *
   * @param timeout milliseconds after which a transient error is final. They count from the first failure of an outage,
   *   so that later work fails fast.
   * @throws the error of the last attempt
   */
  async run<Result>(work: () => Result | Promise<Result>, timeout: number): Promise<Result> {
    const started = performance.now();
    for (;;) {
      try {
        const result = await work();
        this.#failingSince = undefined;
        return result;
      } catch (error) {
        if (!this.isTransient(error)) throw error;
        this.#failingSince ??= started;
        if (performance.now() - this.#failingSince > timeout) throw error;
        await setTimeout(this.pause());
      }
    }
  }
}
