import { setTimeout as wait } from 'node:timers/promises';

/** The time in which work fails, until some succeeds. */
interface Outage {
  /** When the work began that was the first to fail. */
  readonly since: number;
  readonly lastFailure: number;
}

/**
 * Runs work again until it succeeds. Each kind of work has a Retry of its own, with one of three states:
 *
 * - no outage: work that fails begins one.
 * - outage: work that fails is tried again.
 * - long outage, which began longer ago than the timeout: work is tried once, and so fails fast.
 *
 * An outage ends when work succeeds, or begins after nothing has failed for as long as the timeout. Work that runs at the
 * same time shares the outage.
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

  /** @throws the error of the last attempt */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const began = performance.now();
    if (this.#outage !== undefined && began - this.#outage.lastFailure > this.timeout) this.#outage = undefined;
    for (;;) {
      try {
        const result = await work();
        this.#outage = undefined;
        return result;
      } catch (error) {
        if (!this.isTransient(error)) throw error;
        const now = performance.now();
        this.#outage = { since: this.#outage?.since ?? began, lastFailure: now };
        if (now - this.#outage.since > this.timeout) throw error;
        await wait(this.pause());
      }
    }
  }

  /**
   * Runs work as `run` does, but gives up after the timeout even while an attempt goes on, whose outcome is unknown then.
   * An attempt that ends later still counts: its success ends the outage; its failure prolongs it, and no other follows.
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
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(lastError), this.timeout);
    });
    return Promise.race([this.run(attempt), late]).finally(() => clearTimeout(timer));
  }
}
