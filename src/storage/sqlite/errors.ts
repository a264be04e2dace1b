import type { OperatorError } from '../../operator-error.js';
import type { Failure } from '../engine-errors.js';
import { errorMessage, startError, withAdvice } from '../error-messages.js';

/** Advice for an operator whose database has a table plants of another program. */
export const NAME_ANOTHER_FILE = 'if another program made its table plants, name another file';

/** Errors of SQLite by their primary result codes: https://sqlite.org/rescode.html */
interface KnownError {
  readonly codes: readonly number[];
  /** Matches the messages that are meant; undefined if all are. */
  readonly message?: RegExp;
  /** How the repository handles the error; undefined for a defect. */
  readonly failure?: Failure;
  /** The next step of an operator, if SQLite's message does not show it. */
  readonly advice?: string;
}

const KNOWN_ERRORS: readonly KnownError[] = [
  // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: another process has a lock.
  { codes: [5, 6, 15], failure: 'transient', advice: 'stop the other process that uses it' },
  // SQLITE_READONLY, SQLITE_CANTOPEN
  { codes: [8, 14], failure: 'unavailable', advice: 'this user must be able to write the file and its directory' },
  // SQLITE_CORRUPT, SQLITE_NOTADB
  { codes: [11, 26], failure: 'unavailable', advice: 'restore a backup or name another file' },
  // SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL
  { codes: [7, 10, 13], failure: 'unavailable' },
  // SQLITE_ERROR: a table or a column is missing.
  { codes: [1], message: /no such|has no column/, failure: 'unavailable', advice: NAME_ANOTHER_FILE },
  // SQLITE_ERROR: a transaction that could not be rolled back is still open.
  { codes: [1], message: /within a transaction/, failure: 'unavailable' },
  // SQLITE_ERROR of a function in an index or a trigger, SQLITE_CONSTRAINT, SQLITE_MISMATCH: a plant does not fit the table.
  { codes: [1, 19, 20], advice: NAME_ANOTHER_FILE },
];

/** The files of the database were removed, replaced or emptied while it is open. SQLite itself does not notice. */
export class FilesNotInPlaceError extends Error {
  override readonly name = 'FilesNotInPlaceError';

  constructor() {
    super('the files of the database were removed or replaced: put them back');
  }
}

/** Returns how the repository handles an error; undefined for a defect. */
export function sqliteFailure(error: unknown): Failure | undefined {
  // An error of node:fs, such as EACCES, comes from looking at the files, too.
  if (error instanceof FilesNotInPlaceError || 'syscall' in Object(error)) return 'unavailable';
  return knownError(error)?.failure;
}

/** Returns whether another attempt may succeed: another process has a lock. */
export function isTransient(error: unknown): boolean {
  return sqliteFailure(error) === 'transient';
}

/** Explains an error to the operator. */
export function describeSqliteError(error: unknown): string {
  return withAdvice(error, knownError(error)?.advice);
}

/** Makes the line for the operator after opening the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): OperatorError {
  return startError(file, error, describeSqliteError(error));
}

function knownError(error: unknown): KnownError | undefined {
  const { errcode } = Object(error) as { readonly errcode?: unknown };
  if (typeof errcode !== 'number') return undefined;
  // An extended code has the primary one in its last byte.
  const primary = errcode & 0xff;
  return KNOWN_ERRORS.find(
    ({ codes, message }) => codes.includes(primary) && (message === undefined || message.test(errorMessage(error))),
  );
}
