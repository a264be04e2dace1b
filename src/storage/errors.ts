import { OperatorError } from '../operator-error.js';
import { RepositoryUnavailableError } from './plant-repository.js';

/** Advice for messages of the databases that would lead an operator astray. */
const ADVICE: readonly (readonly [message: RegExp, advice: string])[] = [
  [/database is locked/, 'stop the other process that uses it'],
  [/unable to open database file|readonly database/, 'this user must be able to write the file and its directory'],
  // From PostgreSQL 15 on, only the owner of the database may create tables in its schema public.
  [/permission denied for schema/, 'make this user the owner of the database, or GRANT it CREATE on the schema'],
  [/client password must be a string/, 'its URL has no password'],
  [/password authentication failed/, 'correct the password in its URL, which is read only at the start'],
  [/support SSL|certificate|wrong version|no encryption/, 'check sslmode and sslrootcert in its URL'],
];

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
export function startError(database: string, cause: unknown): OperatorError {
  if (cause instanceof OperatorError) return cause;
  return new OperatorError(`the database ${database} cannot be used: ${explained(cause)}`, { cause });
}

/** Makes the error of a repository whose database cannot be used now. */
export function unavailableError(cause: unknown): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`the database cannot be used: ${explained(cause)}`, { cause });
}

/** Returns the message of an error in one line. */
export function errorMessage(error: unknown): string {
  const { message = String(error), errors = [] } = Object(error) as Partial<AggregateError>;
  // Node's error of a host with several addresses has no message, but an error for each address.
  if (message === '' && errors.length > 0) return errors.map(errorMessage).join('; ');
  return message.replaceAll(/\s*\n\s*/g, ' ');
}

/** Returns the message of an error, with the first advice for it. */
function explained(error: unknown): string {
  const message = errorMessage(error);
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(message)) ?? [];
  return advice === undefined ? message : `${message}; ${advice}`;
}
