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

export function noDatabase(file: string): OperatorError {
  return new OperatorError(`there is no database ${file}: DATABASE_URL must name one that exists`);
}

/** The verbs in the messages of `unavailableError`, whose subject is the database. */
const FAULTS = {
  open: 'cannot be used',
  read: 'cannot be read',
  add: 'did not confirm the plants',
  check: 'cannot store plants',
  close: 'cannot be closed',
} as const;

interface UnavailableOptions {
  /** The database as the operator names it, without a password, if the message names it. */
  readonly database?: string;
  readonly cause?: unknown;
}

/**
 * Makes the error of a repository or a snapshot.
 *
 * @param doing what has failed
 * @param reason the message of the error, perhaps with advice
 */
export function unavailableError(
  doing: keyof typeof FAULTS,
  reason: string,
  { database, cause }: UnavailableOptions = {},
): RepositoryUnavailableError {
  const subject = database === undefined ? 'the database' : `the database ${database}`;
  return new RepositoryUnavailableError(`${subject} ${FAULTS[doing]}: ${reason}`, { cause });
}

/**
 * Reads the message of an error. It does not use `instanceof`, which fails for errors of another realm, as in Jest; older
 * Nodes than 24 have no `Error.isError`.
 */
export function errorMessage(error: unknown): string {
  const { message, errors } = Object(error) as { readonly message?: unknown; readonly errors?: unknown };
  // Node's error of a host with several addresses has no message, but an error for each address.
  if (message === '' && Array.isArray(errors)) return errors.map(errorMessage).join('; ');
  return typeof message === 'string' && message !== '' ? message : String(error);
}

/** Returns the message of an error, with advice for the operator if there is any. */
export function withAdvice(error: unknown, advice: string | undefined): string {
  return advice === undefined ? errorMessage(error) : `${errorMessage(error)}; ${advice}`;
}
