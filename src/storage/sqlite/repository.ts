import { KeptOutError } from '../engine-errors.js';
import { unavailableError } from '../error-messages.js';
import { rowOf } from '../plant-rows.js';
import {
  CHECK_TIMEOUT,
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  type StoredPlant,
} from '../plant-repository.js';
import { retry } from '../retry.js';
import { Outage } from '../outage.js';
import { requireSnapshot } from '../require-snapshot.js';
import { describeSqliteError, isTransient, sqliteFailure } from './errors.js';
import type { FilesInPlace } from './files-in-place.js';
import { leaveOpen } from './leave-open.js';
import { addTrialPlants, COMPARE, INSERT } from './schema.js';
import { openSqliteSnapshot } from './snapshot.js';
import { firstRow, inTransaction, prepare, type SqliteDatabase } from './statements.js';

/** Options of `retry` while another process has a lock: it holds the lock for about a millisecond. */
const WHILE_LOCKED = { isTransient, pause: () => 1 };

/** Plants in a SQLite database. Its batches wait for the locks of other processes. */
export class SqliteRepository extends PlantRepository {
  /** The outage that batches have met. Checks do not use it: one that succeeds must not end it. */
  readonly #outage: Outage;
  readonly #checkTimeout: number;
  readonly #insert;
  readonly #compare;

  /** @param files undefined for a database in memory */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly files: FilesInPlace | undefined,
    timeout: number,
  ) {
    super();
    this.#outage = new Outage(timeout, isTransient);
    this.#checkTimeout = Math.min(timeout, CHECK_TIMEOUT);
    this.#insert = prepare(database, INSERT);
    this.#compare = prepare(database, COMPARE);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    try {
      const attempt = (): Outcome[] => this.#attempt(batch);
      return await this.#outage.run((retryFor) => retry(attempt, { ...WHILE_LOCKED, retryFor }));
    } catch (error) {
      // A defect, or the fault of one plant.
      if (sqliteFailure(error) === undefined) throw error;
      throw unavailableError('add', describeSqliteError(error), { cause: error });
    }
  }

  override async check(): Promise<void> {
    const attempt = (): void => {
      this.files?.assertInPlace();
      addTrialPlants(this.database);
    };
    try {
      await retry(attempt, { ...WHILE_LOCKED, retryFor: this.#checkTimeout });
    } catch (error) {
      throw unavailableError('check', describeSqliteError(error), { cause: error });
    }
  }

  override async snapshot(): Promise<PlantSnapshot> {
    const file = this.#fileInPlace();
    return requireSnapshot(openSqliteSnapshot(file), file);
  }

  /**
   * Closes the database, or leaves it open if its files are not in place.
   *
   * @throws {RepositoryUnavailableError} if it stays open, or the driver fails
   */
  override async close(): Promise<void> {
    try {
      this.files?.assertAllInPlace();
      this.database.close();
    } catch (error) {
      if (this.database.isOpen) leaveOpen(this.database);
      throw unavailableError('close', describeSqliteError(error), { cause: error });
    }
  }

  /**
   * Adds a batch in a transaction, and checks the files twice: before it, because the locks in a replaced index no longer
   * keep other processes from writing to the same log, and after it, because clients are answered next.
   */
  #attempt(batch: readonly StoredPlant[]): Outcome[] {
    this.files?.assertInPlace();
    const outcomes = inTransaction(this.database, 'COMMIT', () => batch.map((plant) => this.#addPlant(plant)));
    this.files?.assertInPlace();
    return outcomes;
  }

  #addPlant(plant: StoredPlant): Outcome {
    const row = rowOf(plant);
    if (this.#insert.run(...row).changes > 0) return 'created';
    const [isSame] = firstRow(this.#compare, ...row);
    if (isSame === undefined) throw new KeptOutError();
    return isSame === 1n ? 'repeated' : 'conflict';
  }

  /**
   * Returns the file that another connection can open.
   *
   * @throws {RepositoryUnavailableError} if the database is in memory, or its files are not in place
   */
  #fileInPlace(): string {
    if (this.files === undefined) {
      throw unavailableError('open', 'no other connection can open it', { database: 'in memory' });
    }
    const { path } = this.files;
    try {
      this.files.assertInPlace();
    } catch (error) {
      throw unavailableError('open', describeSqliteError(error), { database: path, cause: error });
    }
    return path;
  }
}
