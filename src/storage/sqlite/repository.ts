import { batchError, checkError, requireOutcomes, snapshotError } from '../errors.js';
import { requireTable, rowOf } from '../plants-table.js';
import {
  CHECK_TIMEOUT,
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  type StoredPlant,
} from '../plant-repository.js';
import { Retry } from '../retry.js';
import { firstRow, prepare, type SqliteDatabase, transact } from './database.js';
import { describeSqliteError, sqliteFailure } from './errors.js';
import type { FilesInPlace } from './files-in-place.js';
import { leaveOpen } from './leave-open.js';
import { addTrialPlants, COMPARE, INSERT } from './schema.js';
import { openSqliteSnapshot } from './snapshot.js';

/** Milliseconds between two attempts: another process holds the lock for about as long. */
const PAUSE = 1;

/** Plants in a SQLite database. Its batches wait for the locks of other processes. */
export class SqliteRepository extends PlantRepository {
  readonly #batches: Retry;
  readonly #checkTimeout: number;
  readonly #insert;
  readonly #compare;

  /**
   * @param path of the database, absolute; undefined for one in memory
   * @param files undefined for a database in memory
   */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly path: string | undefined,
    private readonly files: FilesInPlace | undefined,
    timeout: number,
  ) {
    super();
    this.#batches = retryWithin(timeout);
    this.#checkTimeout = Math.min(timeout, CHECK_TIMEOUT);
    this.#insert = prepare(database, INSERT);
    this.#compare = prepare(database, COMPARE);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    try {
      return requireOutcomes(await this.#batches.run(() => this.#attempt(batch)));
    } catch (error) {
      throw sqliteFailure(error) === undefined ? error : batchError(error, describeSqliteError(error));
    }
  }

  override async check(): Promise<void> {
    const attempt = (): void => {
      this.files?.assertInPlace();
      addTrialPlants(this.database);
    };
    try {
      await retryWithin(this.#checkTimeout).run(attempt);
    } catch (error) {
      throw checkError(error, describeSqliteError(error));
    }
  }

  override async snapshot(): Promise<PlantSnapshot> {
    try {
      if (this.path === undefined) throw new Error('no other connection can open a database in memory');
      this.files?.assertInPlace();
      return requireTable(await openSqliteSnapshot(this.path));
    } catch (error) {
      throw snapshotError(this.path ?? ':memory:', error);
    }
  }

  /**
   * Closes the database, or leaves it open if its files are not in place.
   *
   * @throws {FilesNotInPlaceError} if the database stays open until the process ends
   */
  override async close(): Promise<void> {
    try {
      this.files?.assertInPlace();
      this.files?.assertLogInPlace();
    } catch (error) {
      leaveOpen(this.database);
      throw error;
    }
    this.database.close();
    return Promise.resolve();
  }

  /**
   * Adds a batch in a transaction, and checks the files before and after it. Before, because the locks in a replaced index
   * no longer keep other processes from writing to the same log; after, because clients are answered next.
   */
  #attempt(batch: readonly StoredPlant[]): (Outcome | undefined)[] {
    this.files?.assertInPlace();
    const outcomes = transact(this.database, 'COMMIT', () => batch.map((plant) => this.#addPlant(plant)));
    this.files?.assertInPlace();
    return outcomes;
  }

  /** Returns undefined if the table keeps the plant out. */
  #addPlant(plant: StoredPlant): Outcome | undefined {
    const row = rowOf(plant);
    if (this.#insert.run(...row).changes > 0) return 'created';
    const [isSame] = firstRow(this.#compare, ...row);
    if (isSame === undefined) return undefined;
    return isSame === 1n ? 'repeated' : 'conflict';
  }
}

/** Returns a Retry for errors that a lock of another process causes. */
function retryWithin(timeout: number): Retry {
  const isTransient = (error: unknown): boolean => sqliteFailure(error) === 'transient';
  return new Retry(timeout, { isTransient, pause: () => PAUSE });
}
