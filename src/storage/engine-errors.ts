/**
 * How a repository handles an error of its database: `transient` errors are retried until the timeout; `unavailable`
 * means that no plant can be stored until an operator acts, for example on a full disk. Other errors are defects.
 */
export type Failure = 'transient' | 'unavailable';

/** The database is not one that the service can use. The message begins with "it", which is the database. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
}

/** A plant was neither inserted nor found: a trigger of an operator has dropped its row. */
export class KeptOutError extends Error {
  override readonly name = 'KeptOutError';

  constructor() {
    super('the table plants does not take a plant, although its id is free: look at the triggers of the table');
  }
}

/**
 * Returns whether a repository that is available did not add a plant because its database refuses it: a CHECK of the operator
 * may do so, for example. Any other error is a defect of this program.
 */
export function isRefusal(error: unknown): boolean {
  // SQLite's errors have a result code, and those of a PostgreSQL server a severity.
  return error instanceof KeptOutError || 'errcode' in Object(error) || 'severity' in Object(error);
}
