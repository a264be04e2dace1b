import { messageOf, startError } from './errors.js';
import type { RepositoryStartError } from './plant-repository.js';
import type { Failure } from './retry.js';

const LOCKED = 'is locked by another process; stop it first';
const DAMAGED = 'is not a SQLite database, or is damaged; restore a backup or name another file';
const NOT_OPENED = 'cannot be opened; it must be a file in a directory where this user may write';

interface SqliteError {
  /** The primary result code: https://sqlite.org/rescode.html */
  readonly code: number;
  readonly name: string;
  /** How the repository handles it. */
  readonly failure: Failure;
  /** For the operator when the database cannot be opened; completes "the database plants.db …". */
  readonly atStart: string;
}

const ERRORS: readonly SqliteError[] = [
  { code: 5, name: 'SQLITE_BUSY', failure: 'transient', atStart: LOCKED },
  { code: 6, name: 'SQLITE_LOCKED', failure: 'transient', atStart: LOCKED },
  { code: 7, name: 'SQLITE_NOMEM', failure: 'unavailable', atStart: 'needs more memory; free some' },
  {
    code: 8,
    name: 'SQLITE_READONLY',
    failure: 'unavailable',
    atStart: 'cannot be written; give this user write permission on it and its directory',
  },
  {
    code: 10,
    name: 'SQLITE_IOERR',
    failure: 'unavailable',
    atStart: 'cannot be read or written; check its disk, and what else uses it',
  },
  { code: 11, name: 'SQLITE_CORRUPT', failure: 'unavailable', atStart: DAMAGED },
  { code: 13, name: 'SQLITE_FULL', failure: 'unavailable', atStart: 'has no room left on its disk; free some' },
  { code: 14, name: 'SQLITE_CANTOPEN', failure: 'unavailable', atStart: NOT_OPENED },
  { code: 15, name: 'SQLITE_PROTOCOL', failure: 'transient', atStart: LOCKED },
  { code: 26, name: 'SQLITE_NOTADB', failure: 'unavailable', atStart: DAMAGED },
];

/** The files of the database were removed, replaced or emptied while it is open. SQLite itself does not notice. */
export class FilesNotInPlaceError extends Error {
  override readonly name = 'FilesNotInPlaceError';

  constructor() {
    super('the files of the database were removed or replaced');
  }
}

/** Returns how the repository handles an error of SQLite, or of the file system while it looks at the files. */
export function sqliteFailure(error: unknown): Failure | undefined {
  return isOfFiles(error) ? 'unavailable' : entryOf(error)?.failure;
}

/** Makes the line for the operator after opening the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): RepositoryStartError {
  const other = isOfFiles(error) ? NOT_OPENED : `cannot be used: ${messageOf(error)}`;
  return startError(file, error, entryOf(error)?.atStart ?? other);
}

/** Returns whether it is an error of `node:fs`, such as EACCES, or says that files are not in place. */
function isOfFiles(error: unknown): boolean {
  return error instanceof FilesNotInPlaceError || 'syscall' in Object(error);
}

/** Finds the entry of an error, whose extended code has the primary one in its last byte. */
function entryOf(error: unknown): SqliteError | undefined {
  const { errcode } = Object(error) as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? ERRORS.find(({ code }) => code === (errcode & 0xff)) : undefined;
}
