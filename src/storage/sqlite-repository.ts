import { randomBytes } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { createEmptyFile } from '../files/create-empty-file.js';
import { makeDirectory } from '../files/make-directory.js';
import type { DatabaseOptions } from './database-options.js';
import { COLUMN_NAMES, isSamePlant, plantOf, rowOf, type PlantRow } from './plant-columns.js';
import {
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  RepositoryUnavailableError,
  type StoredPlant,
} from './plant-repository.js';
import { messageOf } from './message-of.js';
import { Retry } from './retry.js';
import { SqliteCount } from './sqlite-count.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';
import { sqliteFailure, sqliteStartError } from './sqlite-errors.js';
import { SqliteFiles } from './sqlite-files.js';
import { assertReadable, updateSqliteSchema } from './sqlite-schema.js';
import { openSqliteSnapshot } from './sqlite-snapshot.js';

/** Pages of the log that start a checkpoint: 32 MiB. All clients wait for it; a longer log makes it rarer. */
const LOG_PAGES = 8_192;

/** Pages that the last batch before a checkpoint adds at most, as a rule. A larger one, of many workers, grows the log. */
const LOG_EXCESS = 512;

/** KiB of SQLite's cache. With random ids only inner pages are read again, and this holds those of 30 million plants. */
const CACHE_KIB = 4_096;

/** Milliseconds between two attempts: another process holds the lock for about as long. */
const RETRY_INTERVAL = 1;

/** Maximum milliseconds of a check: health probes do not wait for long. */
const CHECK_TIMEOUT = 1_000;

const SETTINGS = [
  // SQLite waits for a lock by blocking the process, so only the start waits this way.
  'busy_timeout = 5000',
  'journal_mode = WAL',
  // NORMAL, which is common with WAL, syncs only at checkpoints: a power cut would lose acknowledged plants.
  'synchronous = FULL',
  `wal_autocheckpoint = ${LOG_PAGES}`,
  `cache_size = -${CACHE_KIB}`,
];

/**
 * Opens or creates a SQLite database whose commits are on disk when they return.
 *
 * @param file a path, or `:memory:`
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function openSqliteRepository(
  file: string,
  { timeout, allocateLog = false }: Pick<DatabaseOptions, 'timeout' | 'allocateLog'>,
  driver?: SqliteDriver,
): Promise<PlantRepository> {
  let database: SqliteDatabase | undefined;
  try {
    const path = file === ':memory:' ? file : resolve(file);
    if (path !== ':memory:') makePlaceFor(path);
    database = await openSqliteDatabase(path, driver);
    for (const setting of SETTINGS) database.exec(`PRAGMA ${setting}`);
    updateSqliteSchema(database);
    assertReadable(database);
    const files = path === ':memory:' ? undefined : filesOf(database, path);
    const repository = new SqliteRepository(database, path, files, timeout, driver);
    database.exec('PRAGMA busy_timeout = 0');
    if (allocateLog && files !== undefined) growLog(database, files);
    return repository;
  } catch (error) {
    database?.close();
    throw sqliteStartError(file, error);
  }
}

/** Creates the directory and, for root, the file, which SQLite would leave to root: no service could open it then. */
function makePlaceFor(path: string): void {
  if (process.getuid?.() === 0) createEmptyFile(path);
  else makeDirectory(dirname(path));
}

/**
 * Lets the log grow to its size by a transaction that is rolled back: pages beyond SQLite's cache are written to the log
 * before the end of a transaction (https://sqlite.org/pragma.html#pragma_cache_spill), and later ones overwrite them.
 */
function growLog(database: SqliteDatabase, files: SqliteFiles): void {
  const { page_size: pageSize } = database.prepare('PRAGMA page_size').get() as { readonly page_size: bigint };
  // Another service has allocated it.
  if (files.logSize >= LOG_PAGES * Number(pageSize)) return;
  try {
    // The checkpoint copies plants that a crash has left in the log, so that the log begins again.
    database.exec('PRAGMA wal_checkpoint; BEGIN IMMEDIATE; CREATE TABLE filler (bytes)');
    const bytes = BigInt(LOG_PAGES + LOG_EXCESS) * pageSize + BigInt(CACHE_KIB) * 1_024n;
    database.exec(`INSERT INTO filler VALUES (zeroblob(${bytes}))`);
  } catch {
    // On a full disk, or while another service writes, the log grows as plants are stored.
  }
  rollBackQuietly(database.prepare('ROLLBACK'));
}

/** Asks SQLite for the name of the database, because it follows symbolic links. */
function filesOf(database: SqliteDatabase, path: string): SqliteFiles {
  const { file } = database.prepare('PRAGMA database_list').get() as { readonly file: string };
  return new SqliteFiles(path, file);
}

class SqliteRepository extends PlantRepository {
  readonly #retry = new Retry(
    (error) => sqliteFailure(error) === 'transient',
    () => RETRY_INTERVAL,
  );
  readonly #begin;
  readonly #insert;
  readonly #find;
  readonly #commit;
  readonly #rollback;
  readonly #count;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly path: string,
    /** Undefined for a database in memory. */
    private readonly files: SqliteFiles | undefined,
    private readonly timeout: number,
    private readonly driver: SqliteDriver | undefined,
  ) {
    super();
    // A deferred transaction could not wait for another writer once it has read.
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    const places = COLUMN_NAMES.map(() => '?').join();
    this.#insert = database.prepare(
      `INSERT INTO plants (${COLUMN_NAMES.join()}) VALUES (${places}) ON CONFLICT (id) DO NOTHING`,
    );
    this.#find = database.prepareQuery(`SELECT ${COLUMN_NAMES.join()} FROM plants WHERE id = ?`);
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
    this.#count = new SqliteCount(database);
  }

  override snapshot(): Promise<PlantSnapshot> {
    return openSqliteSnapshot(this.path, this.driver);
  }

  override count(): Promise<number> {
    return this.#count.get();
  }

  override async close(): Promise<void> {
    if (this.files?.logIsIntact() === false) await this.#closeWithoutCheckpoint();
    else this.database.close();
    this.files?.close();
  }

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    return this.#retry
      .run(() => this.#attempt(batch), this.timeout)
      .catch((error: unknown) => {
        throw sqliteFailure(error) === undefined ? error : unavailable('the database did not store them', error);
      });
  }

  /** Writes a plant with a random id in a transaction that it rolls back. */
  override check(): Promise<void> {
    const plant = { id: randomBytes(8).readBigInt64LE(), name: '' };
    const write = (): Outcome => this.#transaction(this.#rollback, () => this.#add(plant));
    return this.#retry.run(write, Math.min(this.timeout, CHECK_TIMEOUT)).then(
      () => undefined,
      (error: unknown) => {
        throw unavailable('the database cannot store plants', error);
      },
    );
  }

  #attempt(batch: readonly StoredPlant[]): readonly Outcome[] {
    const outcomes = this.#transaction(this.#commit, () => batch.map((plant) => this.#add(plant)));
    this.#count.add(batch, outcomes);
    return outcomes;
  }

  #add(plant: StoredPlant): Outcome {
    if (Number(this.#insert.run(...rowOf(plant)).changes) === 1) return 'created';
    const [stored] = [...this.#find(plant.id)] as PlantRow[];
    return stored !== undefined && isSamePlant(plant, plantOf(stored)) ? 'repeated' : 'conflict';
  }

  /**
   * Runs `work` in a transaction, and checks the files before and after it. Before, because the locks in a replaced index
   * no longer keep other processes from writing to the same log; after, because a client is answered next.
   *
   * @param end the statement that ends it: COMMIT or ROLLBACK
   */
  #transaction<Result>(end: { run(): unknown }, work: () => Result): Result {
    this.files?.assertInPlace();
    this.#begin.run();
    let result: Result;
    try {
      result = work();
      end.run();
    } catch (error) {
      rollBackQuietly(this.#rollback);
      throw error;
    }
    this.files?.assertInPlace();
    return result;
  }

  /** Keeps SQLite from copying a damaged log into the database, as the last connection that can write does. */
  async #closeWithoutCheckpoint(): Promise<void> {
    const last = await openSqliteDatabase(this.path, this.driver, { readOnly: true });
    try {
      // Takes the lock that makes it the last connection, even if it cannot read the log.
      last.prepare('PRAGMA schema_version').get();
    } catch {
      // The log is damaged.
    }
    this.database.close();
    last.close();
  }
}

/** Makes the error that a repository throws. */
function unavailable(what: string, error: unknown): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`${what}: ${messageOf(error)}`, { cause: error });
}

/** Rolls back, if there is still a transaction. */
function rollBackQuietly(rollback: { run(): unknown }): void {
  try {
    rollback.run();
  } catch {
    // SQLite itself rolls back after some errors: https://sqlite.org/lang_transaction.html
  }
}
