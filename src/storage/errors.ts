import { OperatorError } from '../operator-error.js';
import { RepositoryUnavailableError } from './plant-repository.js';

/** Makes the error of a plant that was neither inserted nor found: a trigger of an operator has dropped its row. */
export function keptOutError(): Error {
  return new Error(
    'the table plants does not take a plant, although its id is free: look at the triggers of the table',
  );
}

/** @throws if a newer version of the program has made more steps of the schema than there are in this one */
export function assertNotNewer(version: number, steps: readonly string[]): void {
  if (version > steps.length) {
    throw new Error('it has a schema that is newer than this version; run the version that made it, or a newer one');
  }
}

/**
 * Makes the line for the operator after a database could not be opened or read.
 *
 * @param database as the operator names it, without a password
 */
export function startError(database: string, cause: unknown, reason = errorMessage(cause)): OperatorError {
  if (cause instanceof OperatorError) return cause;
  return new OperatorError(`the database ${database} cannot be used: ${reason}`, { cause });
}

/** Makes the error of a repository or a snapshot whose database cannot be used now. */
export function unavailableError(cause: unknown, reason = errorMessage(cause)): RepositoryUnavailableError {
  // An OperatorError names the database already.
  const subject = cause instanceof OperatorError ? '' : 'the database cannot be used: ';
  return new RepositoryUnavailableError(`${subject}${reason}`, { cause });
}

/**
 * Reads the message of an error, in one line. It does not use `instanceof`, which fails for errors of another realm, as in
 * Jest; older Nodes than 24 have no `Error.isError`.
 */
export function errorMessage(error: unknown): string {
  const { message, errors } = Object(error) as { readonly message?: unknown; readonly errors?: unknown };
  // Node's error of a host with several addresses has no message, but an error for each address.
  if (message === '' && Array.isArray(errors)) return errors.map(errorMessage).join('; ');
  return (typeof message === 'string' && message !== '' ? message : String(error)).replaceAll(/\s*\n\s*/g, ' ');
}

/** The sentences for messages that would lead an operator astray. */
export type Advice = readonly (readonly [message: RegExp, advice: string])[];

/** Returns the message of an error, with the first advice for it. */
export function explained(error: unknown, table: Advice): string {
  const message = errorMessage(error);
  const [, advice] = table.find(([pattern]) => pattern.test(message)) ?? [];
  return advice === undefined ? message : `${message}; ${advice}`;
}
