import { setTimeout } from 'node:timers/promises';

/** The times of the first and of the latest failure since the last success. */
interface Outage {
  readonly began: number;
  readonly lastFailure: number;
}

/**
 * Runs work again until it succeeds. It remembers an outage, so that later work fails fast: after a success, or once
 * nothing has failed for as long as the timeout, it is over. Each kind of work has a Retry of its own.
 */
export class Retry {
  #outage: Outage | undefined;

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
    if (this.#outage !== undefined && started - this.#outage.lastFailure > this.timeout) this.#outage = undefined;
    for (;;) {
      try {
        const result = await work();
        this.#outage = undefined;
        return result;
      } catch (error) {
        if (!this.isTransient(error)) throw error;
        const now = performance.now();
        const { began } = (this.#outage = { began: this.#outage?.began ?? started, lastFailure: now });
        if (now - began > this.timeout) throw error;
        await setTimeout(this.pause());
      }
    }
  }
}
