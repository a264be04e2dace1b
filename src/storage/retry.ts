import { setTimeout } from 'node:timers/promises';

/**
 * Runs work again until it succeeds. It remembers an outage, so that later work fails fast: after a success, or once
 * nothing has failed for as long as the timeout, it is over. Each kind of work has a Retry of its own.
 */
export class Retry {
  /** When the first work began that has failed since the last success; undefined without an outage. */
  #outageBegan: number | undefined;
  #lastFailure = -Infinity;

  /**
   * @param timeout milliseconds after which an error is final, counted from the beginning of an outage
   * @param isTransient returns whether another attempt may succeed
   * @param pause returns the milliseconds between two attempts
   */
  constructor(
    private readonly timeout: number,
    private readonly isTransient: (error: unknown) => boolean,
    private readonly pause: () => number,
  ) {}

  /** @throws the error of the last attempt */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const started = performance.now();
    if (started - this.#lastFailure > this.timeout) this.#outageBegan = undefined;
    for (;;) {
      try {
        const result = await work();
        this.#outageBegan = undefined;
        return result;
      } catch (error) {
        if (!this.isTransient(error)) throw error;
        this.#lastFailure = performance.now();
        this.#outageBegan ??= started;
        if (this.#lastFailure - this.#outageBegan > this.timeout) throw error;
        await setTimeout(this.pause());
      }
    }
  }
}
