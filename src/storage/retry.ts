import { setTimeout as wait } from 'node:timers/promises';

/** The time in which work fails, until some succeeds. */
interface Outage {
  /** When the work began that was the first to fail. */
  readonly since: number;
  readonly lastFailure: number;
}

/**
 * Runs work again until it succeeds. Each kind of work has a Retry of its own:
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

  /**
   * @param timeout milliseconds until an outage is long
   * @param isTransient returns whether another attempt may succeed
   * @param pause returns the milliseconds between two attempts
   */
  constructor(
    private readonly timeout: number,
    private readonly isTransient: (error: unknown) => boolean,
    private readonly pause: () => number,
  ) {}

  /**
   * @param isGivenUp returns true when nobody waits for the work any more: it is not tried again, and its failure does not
   *   count
   * @throws the error of the last attempt
   */
  async run<Result>(work: () => Result | Promise<Result>, isGivenUp = () => false): Promise<Result> {
    const began = performance.now();
    if (this.#outage !== undefined && began - this.#outage.lastFailure > this.timeout) this.#outage = undefined;
    for (;;) {
      try {
        const result = await work();
        this.#outage = undefined;
        return result;
      } catch (error) {
        if (isGivenUp() || !this.isTransient(error)) throw error;
        if (this.#noteFailure(began) === 'long outage') throw error;
        await wait(this.pause());
        if (isGivenUp()) throw error;
      }
    }
  }

  /**
   * Runs work as `run` does, but gives up after the timeout even while an attempt goes on, whose outcome is unknown then.
   *
   * @throws the error of the last attempt that has ended
   */
  async runInTime<Result>(work: () => Promise<Result>): Promise<Result> {
    let lastError = new Error(`it did not answer within ${this.timeout} ms`);
    const attempt = (): Promise<Result> =>
      work().catch((error: unknown) => {
        lastError = error as Error;
        throw error;
      });
    let isGivenUp = false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        isGivenUp = true;
        reject(lastError);
      }, this.timeout);
    });
    return Promise.race([this.run(attempt, () => isGivenUp), late]).finally(() => clearTimeout(timer));
  }

  /**
   * Notes that work has failed.
   *
   * @param began when it began
   */
  #noteFailure(began: number): 'outage' | 'long outage' {
    const now = performance.now();
    const since = this.#outage?.since ?? began;
    this.#outage = { since, lastFailure: now };
    return now - since > this.timeout ? 'long outage' : 'outage';
  }
}
