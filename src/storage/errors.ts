/**
 * How a repository handles an error of its database: `transient` errors are retried until the timeout; `unavailable`
 * means that no plant can be stored until an operator acts, for example on a full disk. Other errors are defects.
 */
export type Failure = 'transient' | 'unavailable';

/** The database is not one that the service can use. The message begins with "it", which is the database. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
}

/** The time of a batch or a check is over. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly code = 'NO_ANSWER';

  /** @param timeout milliseconds */
  constructor(timeout: number) {
    super(`it did not answer within ${timeout} ms`);
  }
}
