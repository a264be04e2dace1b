import { setTimeout as wait } from 'node:timers/promises';

/** The options of `retry`. */
interface RetryOptions {
  /** Milliseconds after which no further attempt begins. */
  readonly timeout: number;
  /** Milliseconds between two attempts. */
  readonly pause: number;
  /** Returns whether another attempt may succeed. */
  readonly isTransient: (error: unknown) => boolean;
  /** Called before each pause, with the error of the attempt before it. */
  readonly onPause?: (error: unknown) => void;
}

/**
 * Repeats work until it succeeds.
 *
 * @throws the error of the last attempt
 */
export async function retry<Result>(work: () => Result | Promise<Result>, options: RetryOptions): Promise<Result> {
  const end = performance.now() + options.timeout;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isLate = performance.now() + options.pause >= end;
      if (isLate || !options.isTransient(error)) throw error;
      options.onPause?.(error);
      await wait(options.pause);
    }
  }
}
