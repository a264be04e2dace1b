import { realpathSync, statSync } from 'node:fs';
import { keptOutError, unavailableError } from '../errors.js';
import {
  CHECK_TIMEOUT,
  type Outcome,
  PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../plant-repository.js';
import { retry } from '../retry.js';
import { inTransaction, isLocked, isUnavailable, prepare, type SqliteDatabase } from './database.js';
import { COMPARE, INSERT } from './schema.js';

/** Milliseconds between two attempts. Another process holds the lock for about a millisecond. */
const PAUSE = 1;

/** Plants in a SQLite database. Its batches wait for the locks of other processes. */
export class SqliteRepository extends PlantRepository {
  readonly #insert;
  readonly #compare;
  readonly #file: OpenedFile | undefined;

  /**
   * @param file the path of the database, which is open; undefined for a database in memory
   * @param timeout milliseconds that a batch may wait for a lock
   */
  constructor(
    private readonly database: SqliteDatabase,
    file: string | undefined,
    private readonly timeout: number,
  ) {
    super();
    this.#file = file === undefined ? undefined : new OpenedFile(file);
    this.#insert = prepare(database, INSERT);
    this.#compare = prepare(database, COMPARE);
  }

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    return this.#transact(() => batch.map((plant) => this.#addPlant(plant)), this.timeout);
  }

  override check(): Promise<void> {
    // The table is there, and the lock can be had: a look at the one, and a transaction that writes nothing.
    return this.#transact(() => void this.#compare.get(0n, '', ''), Math.min(this.timeout, CHECK_TIMEOUT));
  }

  override async close(): Promise<void> {
    this.database.close();
  }

  /** Runs work in a transaction. */
  async #transact<Result>(work: () => Result, timeout: number): Promise<Result> {
    const attempt = (): Result => {
      this.#file?.assertInPlace();
      return inTransaction(this.database, work);
    };
    try {
      return await retry(attempt, { timeout, pause: PAUSE, isTransient: isLocked });
    } catch (error) {
      throw isUnavailable(error) ? unavailableError(error) : error;
    }
  }

  #addPlant({ id, name, tag }: StoredPlant): Outcome {
    const row = [id, name, tag ?? null];
    if (this.#insert.run(...row).changes > 0) return 'created';
    const [isSame] = (this.#compare.get(...row) ?? []) as readonly unknown[];
    if (isSame === undefined) throw keptOutError();
    return isSame === 1n ? 'repeated' : 'conflict';
  }
}

/**
 * The file of an open database. SQLite goes on writing to a file that another program has removed or replaced, and no
 * later start would find the plants there.
 */
class OpenedFile {
  /** The path without symbolic links: SQLite puts the log and its index beside it. */
  readonly #realPath: string;
  readonly #identity: string | undefined;

  constructor(private readonly path: string) {
    this.#realPath = realpathSync(path);
    this.#identity = identityOf(path);
  }

  /**
   * @throws {RepositoryUnavailableError} when the path leads to another file than the one that SQLite has opened, or to
   * none
   */
  assertInPlace(): void {
    if (identityOf(this.path) === this.#identity) return;
    // SQLite would apply the log of the old file to the new one, and the plants of the new one would be lost.
    throw new RepositoryUnavailableError(
      `the database ${this.path} was removed or replaced: put it back with mv. If it was copied back, stop ` +
        'all services of this file, and start them. To use another file, such as a backup: stop all services, ' +
        `move ${this.#realPath}-wal and ${this.#realPath}-shm away, and start them`,
    );
  }
}

/** Returns device and inode of a file; undefined if there is none that this user may look for. */
function identityOf(file: string): string | undefined {
  try {
    // Some file systems use inodes beyond 2^53, which a number would round.
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
