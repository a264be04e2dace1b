import { setTimeout as wait } from 'node:timers/promises';

/** The options of `retry`. */
interface RetryOptions {
  /** Milliseconds after which no further attempt begins. */
  readonly retryFor: number;
  /** Returns whether another attempt may succeed. */
  readonly isTransient: (error: unknown) => boolean;
  /** Returns the milliseconds between two attempts. */
  readonly pause: () => number;
  /** Called with each transient error, and the milliseconds since the first attempt began. */
  readonly onFailure?: (error: unknown, lasted: number) => void;
}

/**
 * Repeats work until it succeeds.
 *
 * @throws the error of the last attempt
 */
export async function retry<Result>(
  work: () => Result | Promise<Result>,
  { retryFor, isTransient, pause, onFailure }: RetryOptions,
): Promise<Result> {
  const began = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error)) throw error;
      const lasted = performance.now() - began;
      onFailure?.(error, lasted);
      const rest = pause();
      if (lasted + rest >= retryFor) throw error;
      await wait(rest);
    }
  }
}
