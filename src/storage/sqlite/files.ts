import { existsSync, statSync } from 'node:fs';
import { FilesNotInPlaceError } from './errors.js';

/**
 * Milliseconds between two looks at the inode of the log. After each look, the next commit also writes the inode itself: a
 * file whose times were queried gets new ones with its next write (https://docs.kernel.org/filesystems/multigrain-ts.html).
 */
const LOG_INTERVAL = 1_000;

/**
 * The files of an open database: the database, its write-ahead log and the log's index. SQLite goes on writing to files
 * that other programs have removed or replaced, and no later start and no other process would find the plants there.
 */
export class SqliteFiles {
  readonly #log: string;
  readonly #index: string;
  readonly #identities: string;
  readonly #logIdentity: string;
  /** When the inode of the log was looked at last, and was the right one. */
  #logSeen = performance.now();

  /**
   * @param path of the database, absolute, as the operator named it
   * @param realPath of the database, without symbolic links: SQLite puts the other files beside it
   */
  constructor(
    private readonly path: string,
    realPath: string,
  ) {
    this.#log = `${realPath}-wal`;
    this.#index = `${realPath}-shm`;
    this.#identities = this.#identify();
    this.#logIdentity = identityOf(this.#log, { mayBeEmpty: true });
  }

  /**
   * Looks at the database, the index, and whether there is a log. At most once a second, and after each failure, it also
   * looks whether that log is the one that SQLite has opened: another process makes a new one.
   *
   * @throws {FilesNotInPlaceError} when a file was removed or replaced, or the database or the index was emptied
   */
  assertInPlace(): void {
    if (!existsSync(this.#log)) {
      this.#logSeen = -Infinity;
      throw new FilesNotInPlaceError();
    }
    if (this.#identify() !== this.#identities) throw new FilesNotInPlaceError();
    if (performance.now() - this.#logSeen >= LOG_INTERVAL) this.assertLogInPlace();
  }

  /** @throws {FilesNotInPlaceError} when the log was removed or replaced */
  assertLogInPlace(): void {
    if (identityOf(this.#log, { mayBeEmpty: true }) !== this.#logIdentity) {
      this.#logSeen = -Infinity;
      throw new FilesNotInPlaceError();
    }
    this.#logSeen = performance.now();
  }

  #identify(): string {
    return `${identityOf(this.path)} ${identityOf(this.#index)}`;
  }
}

/** @throws {FilesNotInPlaceError} when the path leads to no file, or to an empty one that may not be */
function identityOf(path: string, { mayBeEmpty = false } = {}): string {
  // As bigints: a number rounds an inode beyond 2^53, which some file systems use.
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (found === undefined || (found.size === 0n && !mayBeEmpty)) throw new FilesNotInPlaceError();
  return `${found.dev}:${found.ino}`;
}
