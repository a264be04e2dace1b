import { OperatorError } from '../contract/operator-error.js';
import { RepositoryUnavailableError } from './plant-repository.js';

/** The database cannot be used. The message is a predicate: it completes a line that begins with the database's name. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
}

/** The schema was made by a newer version of the program. */
export const NEWER_SCHEMA =
  'has a schema that is newer than this version; run the version that made it, or a newer one';

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

/** Reads the message of an error, which in Jest may be of another realm, where `instanceof` fails. */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
