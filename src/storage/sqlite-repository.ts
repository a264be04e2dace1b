import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeDirectory } from '../files/make-directory.js';
import type { Outcome, PlantRepository, PlantSnapshot, StoredPlant } from './plant-repository.js';
import { type Failure, RetryingRepository } from './retrying-repository.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';
import { FilesNotInPlaceError, sqliteFailure, sqliteStartError } from './sqlite-errors.js';
import { updateSqliteSchema } from './sqlite-schema.js';
import { openSqliteSnapshot } from './sqlite-snapshot.js';

const SETTINGS = [
  // SQLite waits for a lock by blocking the process, so only the start waits this way.
  'busy_timeout = 5000',
  'journal_mode = WAL',
  // NORMAL, which is common with WAL, syncs only at checkpoints: a power cut would lose acknowledged plants.
  'synchronous = FULL',
  // Pages of the log before a checkpoint: 32 MiB. All clients wait for a checkpoint, which writes a page once however
  // often it changed; against that, a log that still grows makes a single commit about twice as slow.
  'wal_autocheckpoint = 8192',
  // Four MiB. With random ids only inner pages are read again, and this holds those of 30 million plants.
  'cache_size = -4096',
];

/**
 * Opens or creates a SQLite database whose commits are on disk when they return.
 *
 * @param file a path, or `:memory:`
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function openSqliteRepository(
  file: string,
  { timeout }: { readonly timeout: number },
  driver?: SqliteDriver,
): Promise<PlantRepository> {
  let database: SqliteDatabase | undefined;
  try {
    if (file !== ':memory:') makeDirectory(dirname(resolve(file)));
    database = await openSqliteDatabase(file, driver);
    for (const setting of SETTINGS) database.exec(`PRAGMA ${setting}`);
    updateSqliteSchema(database);
    // Finds a damaged table at the start, before a client does.
    database.prepare('SELECT min(id), max(id) FROM plants').get();
    const repository = new SqliteRepository(database, file, timeout, driver);
    database.exec('PRAGMA busy_timeout = 0');
    return repository;
  } catch (error) {
    database?.close();
    throw sqliteStartError(file, error);
  }
}

class SqliteRepository extends RetryingRepository {
  readonly #begin;
  readonly #insert;
  readonly #find;
  readonly #commit;
  readonly #rollback;
  /** Path and identity of each file of the database. */
  readonly #files: readonly (readonly [path: string, identity: string | undefined])[];

  constructor(
    private readonly database: SqliteDatabase,
    private readonly file: string,
    timeout: number,
    private readonly driver: SqliteDriver | undefined,
  ) {
    super(timeout);
    // A deferred transaction could not wait for another writer once it has read.
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#insert = database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING');
    this.#find = database.prepare('SELECT name, tag FROM plants WHERE id = ?');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
    const names = file === ':memory:' ? [] : ['', '-wal', '-shm'].map((suffix) => resolve(file) + suffix);
    this.#files = names.map((name) => [name, identityOf(name)]);
  }

  override snapshot(): Promise<PlantSnapshot> {
    return openSqliteSnapshot(this.file, this.driver);
  }

  override close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }

  protected override attempt(batch: readonly StoredPlant[]): readonly Outcome[] {
    return this.#transaction(this.#commit, () => batch.map((plant) => this.#add(plant)));
  }

  protected override tryToWrite(): void {
    this.#transaction(this.#rollback, () => this.#insert.run(randomBytes(8).readBigInt64LE(), '', null));
  }

  protected override failureOf(error: unknown): Failure | undefined {
    return sqliteFailure(error);
  }

  #add(plant: StoredPlant): Outcome {
    const { id, name } = plant;
    const tag = plant.tag ?? null;
    if (Number(this.#insert.run(id, name, tag).changes) === 1) return 'created';
    const stored = this.#find.get(id) as { readonly name: string; readonly tag: string | null };
    return stored.name === name && stored.tag === tag ? 'repeated' : 'conflict';
  }

  /**
   * Runs `work` in a transaction. SQLite writes on to files that were removed or replaced, where no later start and no
   * other process would find the plants. So the files are checked before the transaction, which must not write to a
   * log without holding the locks of its new users, and after it, before a client is told.
   *
   * @param end the statement that ends it: COMMIT or ROLLBACK
   */
  #transaction<Result>(end: { run(): unknown }, work: () => Result): Result {
    this.#assertFilesInPlace();
    this.#begin.run();
    let result: Result;
    try {
      result = work();
      end.run();
    } catch (error) {
      this.#rollBackQuietly();
      throw error;
    }
    this.#assertFilesInPlace();
    return result;
  }

  #rollBackQuietly(): void {
    try {
      this.#rollback.run();
    } catch {
      // SQLite has already rolled back by itself, as it does for some errors: https://sqlite.org/lang_transaction.html
    }
  }

  #assertFilesInPlace(): void {
    for (const [path, identity] of this.#files) if (identityOf(path) !== identity) throw new FilesNotInPlaceError();
  }
}

/** Identifies the file that a path leads to; undefined if it leads to none. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
