import { retry } from '../retry.js';
import { isTransient } from './errors.js';

/** Maximum milliseconds between two attempts. The pause is random, so that two processes do not retry in lockstep. */
const MAX_PAUSE = 20;

/** The error of a batch or a check whose time is over while its first attempt still goes on. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  /** The table of errors in errors.ts has this code. */
  readonly code = 'NO_ANSWER';

  /** @param timeout milliseconds */
  constructor(timeout: number) {
    super(`it did not answer within ${timeout} ms`);
  }
}

/**
 * Repeats work, and gives up after the timeout even while an attempt goes on, whose outcome is unknown then. PostgresPool
 * has the table of all time limits.
 *
 * @param timeout milliseconds
 * @param patience milliseconds after which no further attempt begins
 * @throws the error of the last attempt that has ended; {NoAnswerError} if none has
 */
export async function retryInTime<Result>(
  work: () => Promise<Result>,
  timeout: number,
  patience = timeout,
): Promise<Result> {
  let lastError: unknown = new NoAnswerError(timeout);
  const repeated = retry(work, {
    patience,
    isTransient,
    pause: () => Math.random() * MAX_PAUSE,
    onFailure: (error) => {
      lastError = error;
    },
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(lastError as Error), timeout);
  });
  return Promise.race([repeated, late]).finally(() => clearTimeout(timer));
}
