import type { RepositoryStartError } from './plant-repository.js';
import { type Failure, messageOf } from './retrying-repository.js';
import { startError } from './start-error.js';

/** The meaning of an error of SQLite. */
interface SqliteError {
  /** The primary result code (https://sqlite.org/rescode.html), by number for node:sqlite, by name for better-sqlite3. */
  readonly number: number;
  readonly code: string;
  /** While the service runs. Undefined for a defect. */
  readonly failure?: Failure;
  /** For the operator when the database cannot be opened; completes "the database plants.db …". */
  readonly atStart: string;
}

const LOCKED = 'is locked by another process; stop that one first';
const DAMAGED = 'is no SQLite database, or a damaged one; restore a backup or name another file';
const NOT_OPENED = 'cannot be opened; it must be a file in a directory where this user may write';

const ERRORS: readonly SqliteError[] = [
  { number: 5, code: 'SQLITE_BUSY', failure: 'transient', atStart: LOCKED },
  { number: 6, code: 'SQLITE_LOCKED', failure: 'transient', atStart: LOCKED },
  { number: 15, code: 'SQLITE_PROTOCOL', failure: 'transient', atStart: LOCKED },
  { number: 7, code: 'SQLITE_NOMEM', failure: 'unavailable', atStart: 'needs more memory; free some' },
  {
    number: 8,
    code: 'SQLITE_READONLY',
    failure: 'unavailable',
    atStart: 'cannot be written; give this user write permission on the file and its directory',
  },
  {
    number: 10,
    code: 'SQLITE_IOERR',
    failure: 'unavailable',
    atStart: 'cannot be read or written; check its disk, and stop other processes that use it',
  },
  { number: 11, code: 'SQLITE_CORRUPT', atStart: DAMAGED },
  { number: 13, code: 'SQLITE_FULL', failure: 'unavailable', atStart: 'has no room left on its disk; free some' },
  { number: 14, code: 'SQLITE_CANTOPEN', failure: 'unavailable', atStart: NOT_OPENED },
  { number: 26, code: 'SQLITE_NOTADB', atStart: DAMAGED },
];

/** The files of the database were removed or replaced while it is open. SQLite itself reports this as SQLITE_IOERR. */
export class FilesNotInPlaceError extends Error {
  readonly code = 'SQLITE_IOERR';

  constructor() {
    super('the files of the database are not in their place any more');
  }
}

/** Tells how the repository handles an error of either driver. */
export function sqliteFailure(error: unknown): Failure | undefined {
  return find(error)?.failure;
}

/** Makes the line for the operator after opening the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): RepositoryStartError {
  const other = isSystemError(error) ? NOT_OPENED : `cannot be used: ${messageOf(error)}`;
  return startError(file, error, find(error)?.atStart ?? other);
}

/** Finds the entry of a driver's error. Both drivers give an extended code, of which the table has the primary part. */
function find(error: unknown): SqliteError | undefined {
  const { code, errcode } = Object(error) as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof errcode === 'number') return ERRORS.find(({ number }) => number === (errcode & 0xff));
  const primary = /^SQLITE_[A-Z]+/.exec(String(code))?.[0];
  return ERRORS.find((entry) => entry.code === primary);
}

/** An error of the file system, such as EACCES. */
function isSystemError(error: unknown): boolean {
  return 'syscall' in Object(error);
}
