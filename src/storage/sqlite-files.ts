import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, statSync } from 'node:fs';
import { DamagedLogError, FilesNotInPlaceError } from './sqlite-errors.js';

/** The only version of the log and its index since SQLite 3.7.0, of 2010. */
const INDEX_VERSION = 3_007_000;

/**
 * The files of an open database: the database, its write-ahead log and the log's index. SQLite goes on writing to files
 * that other programs have removed, replaced or truncated, and no later start and no other process would find the plants
 * there.
 */
export class SqliteFiles {
  /** Path and identity of each file. */
  readonly #identities: readonly (readonly [path: string, identity: string])[];
  /** Path of the log, which alone may be empty. */
  readonly #logPath: string;
  readonly #log: number;
  readonly #index: number;
  /** Both copies of the header of the index, whose numbers have the byte order of the machine. */
  readonly #indexHeader = Buffer.alloc(96);
  readonly #indexWords = new Uint32Array(this.#indexHeader.buffer, this.#indexHeader.byteOffset, 24);
  readonly #indexHalfWords = new Uint16Array(this.#indexHeader.buffer, this.#indexHeader.byteOffset, 48);
  readonly #salts = this.#indexHeader.subarray(32, 40);
  readonly #logHeader = Buffer.alloc(32);
  readonly #frameHeader = Buffer.alloc(24);

  /**
   * @param path of the database, absolute, as the operator named it
   * @param realPath of the database, without symbolic links: SQLite puts the other files beside it
   */
  constructor(path: string, realPath: string) {
    this.#logPath = `${realPath}-wal`;
    const index = `${realPath}-shm`;
    this.#identities = [path, this.#logPath, index].map((name) => {
      const identity = this.#identityOf(name);
      if (identity === undefined) throw new FilesNotInPlaceError();
      return [name, identity];
    });
    // Without O_NONBLOCK, opening a pipe waits for a writer.
    this.#log = openSync(this.#logPath, constants.O_RDONLY | constants.O_NONBLOCK);
    this.#index = openSync(index, 'r');
  }

  /**
   * @throws {FilesNotInPlaceError} when a file was removed, replaced or emptied
   * @throws {DamagedLogError} when the log is not the one that its index describes
   */
  assertInPlace(): void {
    for (const [path, identity] of this.#identities) {
      if (!this.#isOpenLog(path) && this.#identityOf(path) !== identity) throw new FilesNotInPlaceError();
    }
    if (!this.logIsIntact()) throw new DamagedLogError();
  }

  /**
   * Returns whether the log has the last frame that the index names. This holds at any time while only SQLite writes: a
   * commit writes the log before the index, and a checkpoint that restarts or truncates the log first sets the index to no
   * frames. The format of both: https://sqlite.org/walformat.html
   */
  logIsIntact(): boolean {
    for (;;) {
      readSync(this.#index, this.#indexHeader, 0, 96, 0);
      if (this.#hasLastFrame()) return true;
      const before = Buffer.from(this.#indexHeader);
      readSync(this.#index, this.#indexHeader, 0, 96, 0);
      // Unless another process has changed both meanwhile, the log is damaged.
      if (this.#indexHeader.equals(before)) return false;
    }
  }

  /** Bytes of the log, including those that SQLite will overwrite. */
  get logSize(): number {
    return fstatSync(this.#log).size;
  }

  /** Releases the files; the caller has closed the connection to the database before. */
  close(): void {
    closeSync(this.#log);
    // Closing a file releases all locks of the process on it: https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
    // So the index stays open unless SQLite removed it with the last connection.
    if (fstatSync(this.#index).nlink === 0) closeSync(this.#index);
  }

  /**
   * Returns true if the path is still that of the open log. Linux tells the path of an open file, see proc(5). The identity
   * would do, but after `stat` the next commit would write the inode as well: a file whose times were queried gets new ones
   * with each write (https://docs.kernel.org/filesystems/multigrain-ts.html). Measured: 364 µs a commit instead of 257.
   */
  #isOpenLog(path: string): boolean {
    return path === this.#logPath && pathOf(this.#log) === path;
  }

  /** Identifies the file that a path leads to; undefined if it leads to none, or to one that has lost its contents. */
  #identityOf(path: string): string | undefined {
    try {
      const { dev, ino, size } = statSync(path);
      return size === 0 && path !== this.#logPath ? undefined : `${dev}:${ino}`;
    } catch {
      return undefined;
    }
  }

  /** Compares the log with the header of the index as it was read; true if the header names no frame or is invalid. */
  #hasLastFrame(): boolean {
    const words = this.#indexWords;
    // The copies differ while another process changes them, or after it was killed. SQLite then repairs the index.
    for (let position = 0; position < 12; position += 1) if (words[position] !== words[position + 12]) return true;
    const [version, , , , lastFrame = 0, , checksum1, checksum2] = words;
    if (version !== INDEX_VERSION || lastFrame === 0) return true;
    // 65,536 does not fit, and is 1.
    const pageSize = this.#indexHalfWords[7] === 1 ? 65_536 : (this.#indexHalfWords[7] ?? 0);
    return (
      readSync(this.#log, this.#logHeader, 0, 32, 0) === 32 &&
      this.#logHeader.subarray(16, 24).equals(this.#salts) &&
      readSync(this.#log, this.#frameHeader, 0, 24, 32 + (lastFrame - 1) * (24 + pageSize)) === 24 &&
      this.#frameHeader.subarray(8, 16).equals(this.#salts) &&
      this.#frameHeader.readUInt32BE(16) === checksum1 &&
      this.#frameHeader.readUInt32BE(20) === checksum2
    );
  }
}

/** Returns the path of an open file; undefined if the system does not tell it. */
function pathOf(file: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return undefined;
  }
}
