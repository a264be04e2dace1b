import { OperatorError } from '../operator-error.js';
import { RepositoryUnavailableError } from './plant-repository.js';

/**
 * Makes the line for the operator after a database could not be opened.
 *
 * @param database as the operator names it, without a password
 * @param reason the message of the error, perhaps with advice
 */
export function startError(database: string, error: unknown, reason: string): OperatorError {
  return new OperatorError(`the database ${database} cannot be used: ${reason}`, { cause: error });
}

/**
 * Makes the error of a snapshot.
 *
 * @param database as the operator names it, without a password
 */
export function snapshotError(database: string, error: unknown, reason = messageOf(error)): RepositoryUnavailableError {
  // A line for an operator names the database itself.
  const message = error instanceof OperatorError ? reason : `the database ${database} cannot be read: ${reason}`;
  return new RepositoryUnavailableError(message, { cause: error });
}

/** Makes the error of a batch. */
export function batchError(error: unknown, reason: string): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`the database did not confirm them: ${reason}`, { cause: error });
}

/** Makes the error of a check. */
export function checkError(error: unknown, reason: string): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`the database cannot store plants: ${reason}`, { cause: error });
}

/**
 * Reads the message of an error. It does not use `instanceof`, which fails for errors of another realm, as in Jest; older
 * Nodes than 24 have no `Error.isError`.
 */
export function messageOf(error: unknown): string {
  const { message, errors } = Object(error) as { readonly message?: unknown; readonly errors?: unknown };
  // Node's error of a host with several addresses has no message of its own.
  if (message === '' && Array.isArray(errors)) return errors.map(messageOf).join('; ');
  return typeof message === 'string' && message !== '' ? message : String(error);
}
