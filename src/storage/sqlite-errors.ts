import type { OperatorError } from '../operator-error.js';
import { type Failure, messageOf, startError } from './errors.js';

/** Errors of SQLite that are no defects. */
interface KnownError {
  /** Primary result codes: https://sqlite.org/rescode.html */
  readonly codes: readonly number[];
  readonly failure: Failure;
  /** For the operator when the database cannot be opened; it completes "the database plants.db …". */
  readonly advice: string;
}

/** Also that of errors of node:fs, such as EACCES, while the repository looks at the files. */
const NOT_OPENED: KnownError = {
  // SQLITE_CANTOPEN
  codes: [14],
  failure: 'unavailable',
  advice: 'cannot be opened; it must be a file in a directory where this user may write',
};

const KNOWN_ERRORS: readonly KnownError[] = [
  NOT_OPENED,
  {
    // SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL
    codes: [5, 6, 15],
    failure: 'transient',
    advice: 'is locked by another process; stop it first',
  },
  {
    // SQLITE_NOMEM
    codes: [7],
    failure: 'unavailable',
    advice: 'needs more memory; free some',
  },
  {
    // SQLITE_READONLY
    codes: [8],
    failure: 'unavailable',
    advice: 'cannot be written; give this user write permission on it and its directory',
  },
  {
    // SQLITE_IOERR
    codes: [10],
    failure: 'unavailable',
    advice: 'cannot be read or written; check its disk, and what else uses it',
  },
  {
    // SQLITE_CORRUPT and SQLITE_NOTADB
    codes: [11, 26],
    failure: 'unavailable',
    advice: 'is not a SQLite database, or is damaged; restore a backup or name another file',
  },
  {
    // SQLITE_FULL
    codes: [13],
    failure: 'unavailable',
    advice: 'has no room left on its disk; free some',
  },
];

/** The files of the database were removed, replaced or emptied while it is open. SQLite itself does not notice. */
export class FilesNotInPlaceError extends Error {
  override readonly name = 'FilesNotInPlaceError';

  constructor() {
    super('the files of the database were removed or replaced');
  }
}

/** Returns how the repository handles an error; undefined for a defect. */
export function sqliteFailure(error: unknown): Failure | undefined {
  return find(error)?.failure;
}

/** Explains an error in the log of a running service, and to the operator of a command. */
export function describeSqliteError(error: unknown): string {
  const known = find(error);
  // Files that are gone have a message of their own.
  return known === undefined || known === NOT_OPENED ? messageOf(error) : `it ${known.advice} (${messageOf(error)})`;
}

/** Makes the line for the operator after opening the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): OperatorError {
  const unknown = `cannot be used: ${messageOf(error)}; if another program made its table plants, name another file`;
  return startError(file, error, find(error)?.advice ?? unknown);
}

function find(error: unknown): KnownError | undefined {
  const { errcode, syscall } = Object(error) as { readonly errcode?: unknown; readonly syscall?: unknown };
  if (syscall !== undefined || error instanceof FilesNotInPlaceError) return NOT_OPENED;
  if (typeof errcode !== 'number') return undefined;
  // An extended code has the primary one in its last byte.
  return KNOWN_ERRORS.find(({ codes }) => codes.includes(errcode & 0xff));
}
