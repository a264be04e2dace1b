import { existsSync, statSync } from 'node:fs';
import { syncFile } from '../../files/durable-files.js';
import { FilesNotInPlaceError } from './errors.js';

/**
 * Milliseconds between two checks of the log's inode. Each check slows the next commit, which then also writes the inode: a
 * file whose times were queried gets new times with its next write (https://docs.kernel.org/filesystems/multigrain-ts.html).
 */
const LOG_INTERVAL = 1_000;

/**
 * The files of an open database: the database, its write-ahead log and the log's index. SQLite goes on writing to files
 * that other programs have removed or replaced, and no later start and no other process would find the plants there.
 */
export class FilesInPlace {
  readonly #index: string;
  readonly #log: string;
  /** Device and inode of each file, by its path. */
  readonly #identities: ReadonlyMap<string, string>;
  /** When the log must be identified again, on the clock of `performance.now`. */
  #logDueAt = 0;

  /**
   * @param path of the database, absolute, as the operator named it
   * @param realPath of the database, without symbolic links: SQLite puts the other files beside it
   */
  constructor(
    readonly path: string,
    realPath: string,
  ) {
    this.#index = `${realPath}-shm`;
    this.#log = `${realPath}-wal`;
    this.#identities = new Map([path, this.#index, this.#log].map((name) => [name, this.#identityOf(name)]));
  }

  /**
   * Syncs the log, because a process that was killed may have written to it without a sync. SQLite reads those plants, so
   * one could count as repeated although it is not on disk.
   */
  syncLog(): void {
    syncFile(this.#log);
  }

  /**
   * Checks that the database and the index are the files that SQLite has opened, and that there is a log. Another process
   * makes a new log where there is none, so once a second, after a failure, and before the database closes, the log must
   * also be the file that SQLite has opened.
   *
   * @throws {FilesNotInPlaceError} when a file was removed or replaced, or the database or the index was emptied
   */
  assertInPlace(): void {
    if (performance.now() >= this.#logDueAt || !existsSync(this.#log)) {
      this.assertAllInPlace();
    } else {
      this.#assertSame(this.path);
      this.#assertSame(this.#index);
    }
  }

  /**
   * Checks that all three are the files that SQLite has opened.
   *
   * @throws as `assertInPlace`
   */
  assertAllInPlace(): void {
    // After a failure, the log stays due, because another process may make a new one meanwhile.
    this.#logDueAt = 0;
    for (const path of [this.#log, this.path, this.#index]) this.#assertSame(path);
    this.#logDueAt = performance.now() + LOG_INTERVAL;
  }

  /** @throws {FilesNotInPlaceError} when the path leads to another file than the one that SQLite has opened, or to none */
  #assertSame(path: string): void {
    if (this.#identityOf(path) !== this.#identities.get(path)) throw new FilesNotInPlaceError();
  }

  /** @throws {FilesNotInPlaceError} when the path leads to no file, or to an empty one, which only the log may be */
  #identityOf(path: string): string {
    // Some file systems use inodes beyond 2^53, which a number would round.
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined || (found.size === 0n && path !== this.#log)) throw new FilesNotInPlaceError();
    return `${found.dev}:${found.ino}`;
  }
}
