import { setTimeout as wait } from 'node:timers/promises';

/** The time in which work fails, until some succeeds. */
interface Outage {
  /** When the work began that was the first to fail. */
  readonly since: number;
  lastFailure: number;
  /** True once `onWait` was called. */
  isTold: boolean;
}

/** How a kind of work is repeated. */
interface RetryOptions {
  /** Returns whether another attempt may succeed. */
  readonly isTransient: (error: unknown) => boolean;
  /** Returns the milliseconds between two attempts. */
  readonly pause: () => number;
  /** True to give up after the timeout even while an attempt goes on, whose outcome is unknown then, and does not count. */
  readonly leavesAttempt?: boolean;
  /** Called once in an outage, with the first transient error for which `isWorthTelling` returns true. */
  readonly onWait?: (error: unknown) => void;
  /**
   * Returns whether the operator should know of an error.
   *
   * @param lasted milliseconds since the outage began
   */
  readonly isWorthTelling?: (error: unknown, lasted: number) => boolean;
}

type Work<Result> = () => Result | Promise<Result>;

/** The time is over, and the first attempt has not ended. */
class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly code = 'NO_ANSWER';
}

/** The deadline has passed while an attempt goes on. */
class AttemptLeft extends Error {}

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

  /** @param timeout milliseconds until an outage is long */
  constructor(
    private readonly timeout: number,
    private readonly options: RetryOptions,
  ) {}

  /** @throws the error of the last attempt that has ended */
  async run<Result>(work: Work<Result>): Promise<Result> {
    const began = performance.now();
    const deadline = began + this.timeout;
    if (this.#outage !== undefined && began - this.#outage.lastFailure > this.timeout) this.#outage = undefined;
    let lastError: unknown = new NoAnswerError(`it did not answer within ${this.timeout} ms`);
    for (;;) {
      try {
        const result = await (this.options.leavesAttempt === true ? endAt(deadline, work) : work());
        this.#outage = undefined;
        return result;
      } catch (error) {
        if (error instanceof AttemptLeft) throw lastError;
        if (!this.options.isTransient(error)) throw error;
        const isLongOutage = this.#noteFailure(error, began) > this.timeout;
        if (isLongOutage) throw error;
        lastError = error;
      }
      await wait(this.options.pause());
      if (performance.now() >= deadline) throw lastError;
    }
  }

  /**
   * Notes a failure in the outage that it belongs to, or begins, and tells the operator if that is due.
   *
   * @param began when the work began that has failed
   * @returns milliseconds since the outage began
   */
  #noteFailure(error: unknown, began: number): number {
    const { onWait, isWorthTelling = () => true } = this.options;
    const outage = (this.#outage ??= { since: began, lastFailure: began, isTold: false });
    outage.lastFailure = performance.now();
    const lasted = outage.lastFailure - outage.since;
    if (!outage.isTold && isWorthTelling(error, lasted)) {
      outage.isTold = true;
      onWait?.(error);
    }
    return lasted;
  }
}

/** @throws {AttemptLeft} if the work has not ended at the deadline */
async function endAt<Result>(deadline: number, work: Work<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new AttemptLeft()), deadline - performance.now());
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
