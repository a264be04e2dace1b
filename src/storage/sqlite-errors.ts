import type { OperatorError } from '../contract/operator-error.js';
import { messageOf, startError } from './errors.js';
import type { Failure } from './retry.js';

const LOCKED = 'is locked by another process; stop it first';
const DAMAGED = 'is not a SQLite database, or is damaged; restore a backup or name another file';
const NOT_OPENED = 'cannot be opened; it must be a file in a directory where this user may write';

/**
 * The primary result codes (https://sqlite.org/rescode.html) of errors that are no defects, with the advice for the
 * operator when the database cannot be opened; it completes "the database plants.db …".
 */
const ADVICE: Readonly<Record<number, string>> = {
  // SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL
  5: LOCKED,
  6: LOCKED,
  15: LOCKED,
  // SQLITE_NOMEM
  7: 'needs more memory; free some',
  // SQLITE_READONLY
  8: 'cannot be written; give this user write permission on it and its directory',
  // SQLITE_IOERR
  10: 'cannot be read or written; check its disk, and what else uses it',
  // SQLITE_CORRUPT and SQLITE_NOTADB
  11: DAMAGED,
  26: DAMAGED,
  // SQLITE_FULL
  13: 'has no room left on its disk; free some',
  // SQLITE_CANTOPEN
  14: NOT_OPENED,
};

/** The files of the database were removed, replaced or emptied while it is open. SQLite itself does not notice. */
export class FilesNotInPlaceError extends Error {
  override readonly name = 'FilesNotInPlaceError';

  constructor() {
    super('the files of the database were removed or replaced');
  }
}

/** Returns how the repository handles an error of SQLite, or of the file system while it looks at the files. */
export function sqliteFailure(error: unknown): Failure | undefined {
  const advice = adviceOn(error);
  if (advice === undefined) return undefined;
  return advice === LOCKED ? 'transient' : 'unavailable';
}

/** Makes the line for the operator after opening the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): OperatorError {
  const unknown = `cannot be used: ${messageOf(error)}; if another program made its table plants, name another file`;
  return startError(file, error, adviceOn(error) ?? unknown);
}

function adviceOn(error: unknown): string | undefined {
  const { errcode, syscall } = Object(error) as { readonly errcode?: unknown; readonly syscall?: unknown };
  // An error of node:fs, such as EACCES.
  if (syscall !== undefined || error instanceof FilesNotInPlaceError) return NOT_OPENED;
  // An extended code has the primary one in its last byte.
  return typeof errcode === 'number' ? ADVICE[errcode & 0xff] : undefined;
}
