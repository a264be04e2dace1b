import { accessSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { existingDirectory } from '../../files/durable-files.js';
import { sqlitePath } from '../database-url.js';
import type { DatabaseOptions, Engine } from '../engines.js';
import { batchError, checkError, PlantKeptOutError, requireTable, snapshotError } from '../errors.js';
import { rowOf } from '../plant-columns.js';
import {
  CHECK_TIMEOUT,
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  type StoredPlant,
} from '../plant-repository.js';
import { Retry } from '../retry.js';
import {
  assertSound,
  databaseExists,
  firstRow,
  firstValue,
  openSqliteDatabase,
  prepare,
  type SqliteDatabase,
  transact,
  useSqliteDatabase,
} from './database.js';
import { describeSqliteError, sqliteFailure, sqliteStartError } from './errors.js';
import { FilesInPlace } from './files-in-place.js';
import { leaveOpen } from './leave-open.js';
import { addTrialPlants, checkSqliteSchema, COMPARE, INSERT, updateSqliteSchema } from './schema.js';
import { openSqliteSnapshot } from './snapshot.js';

/** Milliseconds between two attempts: another process holds the lock for about as long. */
const PAUSE = 1;

const SETTINGS = [
  'journal_mode = WAL',
  // NORMAL, which is common with WAL, syncs only at checkpoints: a power cut would lose acknowledged plants.
  'synchronous = FULL',
  // macOS: otherwise, a sync may end before the disk has written. Elsewhere, it has no effect.
  'fullfsync = ON',
  // 8 MiB of log. A commit that still makes the log longer takes more time, so a start has that behind it soon.
  'wal_autocheckpoint = 2000',
  // 4 MiB. With random ids only inner pages are read again, and this holds those of 30 million plants.
  'cache_size = -4096',
];

export const sqliteEngine: Engine = {
  open: openSqliteRepository,
  snapshot: (url) => openSqliteSnapshot(sqlitePath(url)),
  check: checkSqliteDatabase,
};

/** Opens or creates a database whose commits are on disk when they return. */
function openSqliteRepository(url: string, { timeout, ...options }: DatabaseOptions): Promise<PlantRepository> {
  const file = sqlitePath(url);
  const open = (database: SqliteDatabase): PlantRepository => {
    for (const setting of SETTINGS) database.exec(`PRAGMA ${setting}`);
    updateSqliteSchema(database);
    const path = file === ':memory:' ? undefined : resolve(file);
    // SQLite follows symbolic links to the file.
    const realPath = firstValue(database, "SELECT file FROM pragma_database_list WHERE name = 'main'");
    const files = path === undefined ? undefined : new FilesInPlace(path, String(realPath));
    files?.syncLog();
    return new SqliteRepository(database, path, files, timeout);
  };
  return openSqliteDatabase(file, open, options);
}

async function checkSqliteDatabase(url: string): Promise<boolean> {
  const file = sqlitePath(url);
  if (file === ':memory:' || !isThere(file)) return false;
  // Apart, because it takes longer in a large database than the trial plants may wait for a running service.
  await useSqliteDatabase(file, assertSound);
  return useSqliteDatabase(file, checkSqliteSchema);
}

/**
 * Returns whether there is a database.
 *
 * @throws {OperatorError} if this user cannot look for it or create it
 */
function isThere(file: string): boolean {
  if (databaseExists(file)) return true;
  try {
    // With the slash, a file instead of the directory is refused, too.
    accessSync(`${existingDirectory(dirname(resolve(file)))}/`, constants.W_OK | constants.X_OK);
    return false;
  } catch (error) {
    throw sqliteStartError(file, error);
  }
}

class SqliteRepository extends PlantRepository {
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
      return await this.#batches.run(() => this.#attempt(batch));
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
  #attempt(batch: readonly StoredPlant[]): Outcome[] {
    this.files?.assertInPlace();
    const outcomes = transact(this.database, 'COMMIT', () => batch.map((plant) => this.#addPlant(plant)));
    this.files?.assertInPlace();
    return outcomes;
  }

  #addPlant(plant: StoredPlant): Outcome {
    const row = rowOf(plant);
    if (this.#insert.run(...row).changes > 0) return 'created';
    const [isSame] = firstRow(this.#compare, ...row);
    if (isSame === undefined) throw new PlantKeptOutError();
    return isSame === 1n ? 'repeated' : 'conflict';
  }
}

/** Returns a Retry for errors that a lock of another process causes. */
function retryWithin(timeout: number): Retry {
  const isTransient = (error: unknown): boolean => sqliteFailure(error) === 'transient';
  return new Retry(timeout, { isTransient, pause: () => PAUSE });
}
