import { messageOf } from './message-of.js';
import type { RepositoryStartError } from './plant-repository.js';
import type { Failure } from './retry.js';
import { startError } from './start-error.js';

const LOCKED = 'is locked by another process; stop it first';
const DAMAGED = 'is not a SQLite database, or is damaged; restore a backup or name another file';
const NOT_OPENED = 'cannot be opened; it must be a file in a directory where this user may write';

/**
 * The meaning of SQLite's primary result codes (https://sqlite.org/rescode.html).
 *
 * - The code by number, as node:sqlite has it, and by name, as better-sqlite3 has it.
 * - How the repository handles it.
 * - For the operator when the database cannot be opened; completes "the database plants.db …".
 */
const ERRORS: readonly (readonly [number: number, name: string, failure: Failure, atStart: string])[] = [
  [5, 'SQLITE_BUSY', 'transient', LOCKED],
  [6, 'SQLITE_LOCKED', 'transient', LOCKED],
  [7, 'SQLITE_NOMEM', 'unavailable', 'needs more memory; free some'],
  [8, 'SQLITE_READONLY', 'unavailable', 'cannot be written; give this user write permission on it and its directory'],
  [10, 'SQLITE_IOERR', 'unavailable', 'cannot be read or written; check its disk, and what else uses it'],
  [11, 'SQLITE_CORRUPT', 'unavailable', DAMAGED],
  [13, 'SQLITE_FULL', 'unavailable', 'has no room left on its disk; free some'],
  [14, 'SQLITE_CANTOPEN', 'unavailable', NOT_OPENED],
  [15, 'SQLITE_PROTOCOL', 'transient', LOCKED],
  [26, 'SQLITE_NOTADB', 'unavailable', DAMAGED],
];

/** The files of the database were removed, replaced or emptied while it is open. SQLite itself reports this as SQLITE_IOERR. */
export class FilesNotInPlaceError extends Error {
  readonly code = 'SQLITE_IOERR';

  constructor() {
    super('the files of the database were removed or replaced');
  }
}

/** The write-ahead log was truncated or overwritten while the database is open. SQLite itself does not notice. */
export class DamagedLogError extends Error {
  readonly code = 'SQLITE_IOERR';

  constructor() {
    super(
      'the write-ahead log was truncated or overwritten by another program; restart the service to continue with the ' +
        'plants that had left the log for the database, or restore a backup',
    );
  }
}

/** Returns how the repository handles an error of either driver, or of the file system while it looks at the files. */
export function sqliteFailure(error: unknown): Failure | undefined {
  return isFileSystemError(error) ? 'unavailable' : entryOf(error)?.[2];
}

/** Makes the line for the operator after opening the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): RepositoryStartError {
  const other = isFileSystemError(error) ? NOT_OPENED : `cannot be used: ${messageOf(error)}`;
  return startError(file, error, entryOf(error)?.[3] ?? other);
}

/** Returns whether it is an error of `node:fs`, such as EACCES. */
function isFileSystemError(error: unknown): boolean {
  return 'syscall' in Object(error);
}

/** Finds the entry of a driver's error. Both drivers give an extended code, of which the table has the primary part. */
function entryOf(error: unknown): (typeof ERRORS)[number] | undefined {
  const { code, errcode } = Object(error) as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof errcode === 'number') return ERRORS.find(([number]) => number === (errcode & 0xff));
  const primary = /^SQLITE_[A-Z]+/.exec(String(code))?.[0];
  return ERRORS.find(([, name]) => name === primary);
}
