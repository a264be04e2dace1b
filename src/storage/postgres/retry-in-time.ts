import { retry } from '../retry.js';
import { isTransient } from './errors.js';

/** Maximum milliseconds between two attempts. The pause is random, so that two processes do not retry in lockstep. */
const MAX_PAUSE = 20;

/**
 * Repeats work, and gives up after the timeout even while an attempt goes on, whose outcome is unknown then.
 *
 * @param options.timeout milliseconds after which it gives up
 * @param options.retryFor milliseconds after which no further attempt begins
 * @throws the error of the last attempt that has ended; if none has, an error that is transient, too
 */
export async function retryInTime<Result>(
  work: () => Promise<Result>,
  { timeout, retryFor = timeout }: { readonly timeout: number; readonly retryFor?: number },
): Promise<Result> {
  let lastError: unknown;
  const repeated = retry(work, {
    retryFor,
    isTransient,
    pause: () => Math.random() * MAX_PAUSE,
    onFailure: (error) => {
      lastError = error;
    },
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject((lastError ?? noAnswerWithin(timeout)) as Error), timeout);
  });
  return Promise.race([repeated, late]).finally(() => clearTimeout(timer));
}

/** Makes an error with Node's code for a timeout, which is transient. */
function noAnswerWithin(timeout: number): Error {
  return Object.assign(new Error(`it did not answer within ${timeout} ms`), { code: 'ETIMEDOUT' });
}
