import { OperatorError } from '../operator-error.js';
import { FIELD_NAMES, listed } from '../contract/plant-fields.js';
import { RepositoryUnavailableError } from './plant-repository.js';

/**
 * How a repository handles an error of its database: `transient` errors are retried until the timeout; `unavailable`
 * means that no plant can be stored until an operator acts, for example on a full disk. Other errors are defects.
 */
export type Failure = 'transient' | 'unavailable';

/** The database cannot be used. The message is a predicate: it completes a line that begins with the database's name. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
}

/** The schema was made by a newer version of the program. */
export const NEWER_SCHEMA =
  'has a schema that is newer than this version; run the version that made it, or a newer one';

/**
 * Refuses a table that an operator or another program has made, if it lacks columns.
 *
 * @param columns the names of its columns
 * @param advice for an operator whose other program has made it
 * @throws {UnusableDatabaseError}
 */
export function assertColumns(columns: readonly unknown[], advice: string): void {
  const missing = FIELD_NAMES.filter((name) => !columns.includes(name));
  if (missing.length === 0) return;
  throw new UnusableDatabaseError(
    `has a table plants without ${listed(missing, 'and')}; add what is missing, or, if another program made the table, ${advice}`,
  );
}

/**
 * Makes the one line for the operator.
 *
 * @param database as the operator names it, without a password
 * @param predicate used unless `error` brings its own
 */
export function startError(database: string, error: unknown, predicate: string): OperatorError {
  const reason = error instanceof UnusableDatabaseError ? error.message : predicate;
  return new OperatorError(`the database ${database} ${reason}`, { cause: error });
}

/** Makes the error that a repository throws. */
export function unavailable(what: string, error: unknown, reason = messageOf(error)): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`${what}: ${reason}`, { cause: error });
}

/** Returns a snapshot of a running store, whose table must be there. */
export function requireTable<Snapshot>(snapshot: Snapshot | undefined): Snapshot {
  if (snapshot === undefined) throw new Error('it has no table of plants');
  return snapshot;
}

/**
 * Makes the error of a snapshot.
 *
 * @param database as the operator names it, without a password
 */
export function unreadable(database: string, error: unknown, reason?: string): RepositoryUnavailableError {
  return unavailable(`the database ${database} cannot be read`, error, reason);
}

/** Reads the message of an error, which in Jest may be of another realm, where `instanceof` fails. */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
