import { existsSync, statSync } from 'node:fs';
import { FilesNotInPlaceError } from './sqlite-errors.js';

/**
 * The files of an open database: the database, its write-ahead log and the log's index. SQLite goes on writing to files
 * that other programs have removed or replaced, and no later start and no other process would find the plants there.
 */
export class SqliteFiles {
  readonly #log: string;
  readonly #index: string;
  readonly #identities: string;

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
  }

  /** @throws {FilesNotInPlaceError} when a file was removed, or the database or the index was replaced or emptied */
  assertInPlace(): void {
    if (this.#identify() !== this.#identities) throw new FilesNotInPlaceError();
  }

  /**
   * Asks of the log only whether it exists. After `stat`, the next commit would write its inode, too: a file whose times
   * were queried gets new ones with each write (https://docs.kernel.org/filesystems/multigrain-ts.html).
   */
  #identify(): string {
    if (!existsSync(this.#log)) throw new FilesNotInPlaceError();
    return `${identityOf(this.path)} ${identityOf(this.#index)}`;
  }
}

/** @throws {FilesNotInPlaceError} when the path leads to no file, or to an empty one */
function identityOf(path: string): string {
  // As bigints: a number rounds an inode beyond 2^53, which some file systems use.
  const { dev, ino, size } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? { size: 0n };
  if (size === 0n) throw new FilesNotInPlaceError();
  return `${dev}:${ino}`;
}
