import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { unavailable } from './errors.js';
import type { DatabaseOptions } from './open-repository.js';
import { byteLengthIn, isSamePlant, plantOf, rowOf } from './plant-columns.js';
import { type Outcome, PlantRepository, type PlantSnapshot, type StoredPlant } from './plant-repository.js';
import { Retry } from './retry.js';
import { requireSnapshot, type SnapshotConnection, SqlSnapshot } from './sql-snapshot.js';
import { firstValue, openSqliteDatabase, prepare, type SqliteDatabase } from './sqlite-database.js';
import { fileOf } from './sqlite-engine.js';
import { sqliteFailure } from './sqlite-errors.js';
import { SqliteFiles } from './sqlite-files.js';
import { FIND, hasPlants, INSERT, schemaVersion, tryOut, updateSqliteSchema } from './sqlite-schema.js';

/** Milliseconds between two attempts: another process holds the lock for about as long. */
const RETRY_INTERVAL = 1;

/** Maximum milliseconds of a check: health probes do not wait for long. */
const CHECK_TIMEOUT = 1_000;

const SETTINGS = [
  'journal_mode = WAL',
  // NORMAL, which is common with WAL, syncs only at checkpoints: a power cut would lose acknowledged plants.
  'synchronous = FULL',
  // 8 MiB of log. A commit that still makes the log longer takes more time, so a start has that behind it soon.
  'wal_autocheckpoint = 2000',
  // 4 MiB. With random ids only inner pages are read again, and this holds those of 30 million plants.
  'cache_size = -4096',
];

/** Opens or creates a SQLite database whose commits are on disk when they return. */
export function openRepository(url: string, { timeout }: DatabaseOptions): Promise<PlantRepository> {
  const file = fileOf(url);
  return openSqliteDatabase(file, (database) => {
    for (const setting of SETTINGS) database.exec(`PRAGMA ${setting}`);
    updateSqliteSchema(database);
    tryOut(database);
    // While SQLite waits for a lock, it blocks the process. `Retry` waits without that.
    database.exec('PRAGMA busy_timeout = 0');
    return new SqliteRepository(database, file === ':memory:' ? undefined : resolve(file), timeout);
  });
}

/**
 * Tries out the database of a URL, which stays as it is.
 *
 * @returns whether there is a table of plants
 * @throws {OperatorError} when a start would refuse the database
 */
export async function tryOutDatabase(url: string): Promise<boolean> {
  const file = fileOf(url);
  if (!existsSync(file)) return false;
  return openSqliteDatabase(file, (database) => {
    const isPresent = hasPlants(database);
    tryOut(database);
    database.close();
    return isPresent;
  });
}

/**
 * Takes a snapshot on a connection of its own, so that a writer goes on. It changes neither the schema nor the journal
 * mode. While it is open, a checkpoint cannot reset the write-ahead log, which grows.
 *
 * @returns undefined if there is no file, or no table of plants in it
 */
export async function openSnapshot(url: string): Promise<PlantSnapshot | undefined> {
  const file = fileOf(url);
  if (!existsSync(file)) return undefined;
  return openSqliteDatabase(file, (database) => {
    // The transaction takes its snapshot when it reads for the first time.
    database.exec('BEGIN');
    schemaVersion(database);
    if (hasPlants(database)) return new SqlSnapshot(connectionOf(database));
    database.close();
    return undefined;
  });
}

function connectionOf(database: SqliteDatabase): SnapshotConnection {
  return {
    arrayFunction: 'json_group_array',
    // CAST would read the text.
    byteLength: byteLengthIn((column) => column),
    async query(sql) {
      // Lets a signal arrive: reading from SQLite never waits.
      await setImmediate();
      return prepare(database, sql).all() as unknown[][];
    },
    close() {
      database.close();
      return Promise.resolve();
    },
  };
}

class SqliteRepository extends PlantRepository {
  readonly #retry = new Retry(
    (error) => sqliteFailure(error) === 'transient',
    () => RETRY_INTERVAL,
  );
  /** Undefined for a database in memory. */
  readonly #files: SqliteFiles | undefined;
  readonly #begin;
  readonly #insert;
  readonly #find;
  readonly #commit;
  readonly #rollback;

  /** @param path of the database, absolute; undefined for one in memory */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly path: string | undefined,
    private readonly timeout: number,
  ) {
    super();
    // SQLite follows symbolic links to the file.
    const realPath = firstValue(database, "SELECT file FROM pragma_database_list WHERE name = 'main'");
    this.#files = path === undefined ? undefined : new SqliteFiles(path, String(realPath));
    // A deferred transaction could not wait for another writer once it has read.
    this.#begin = prepare(database, 'BEGIN IMMEDIATE');
    this.#insert = prepare(database, INSERT);
    this.#find = prepare(database, FIND);
    this.#commit = prepare(database, 'COMMIT');
    this.#rollback = prepare(database, 'ROLLBACK');
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    try {
      return await this.#retry.run(() => this.#attempt(batch), this.timeout);
    } catch (error) {
      throw sqliteFailure(error) === undefined ? error : unavailable('the database did not store them', error);
    }
  }

  override async check(): Promise<void> {
    const attempt = (): void => {
      this.#files?.assertInPlace();
      tryOut(this.database);
    };
    try {
      await this.#retry.run(attempt, Math.min(this.timeout, CHECK_TIMEOUT));
    } catch (error) {
      throw unavailable('the database cannot store plants', error);
    }
  }

  override snapshot(): Promise<PlantSnapshot> {
    return requireSnapshot(() => {
      if (this.path === undefined) throw new Error('no other connection can open a database in memory');
      this.#files?.assertInPlace();
      return openSnapshot(`sqlite:${this.path}`);
    });
  }

  override close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }

  /**
   * Adds a batch in a transaction, and checks the files before and after it. Before, because the locks in a replaced index
   * no longer keep other processes from writing to the same log; after, because clients are answered next.
   */
  #attempt(batch: readonly StoredPlant[]): Outcome[] {
    this.#files?.assertInPlace();
    this.#begin.run();
    try {
      const outcomes = batch.map((plant) => this.#add(plant));
      this.#commit.run();
      this.#files?.assertInPlace();
      return outcomes;
    } catch (error) {
      // SQLite itself rolls back after some errors: https://sqlite.org/lang_transaction.html
      if (this.database.isTransaction) this.#rollback.run();
      throw error;
    }
  }

  #add(plant: StoredPlant): Outcome {
    const row = rowOf(plant);
    if (this.#insert.run(...row).changes > 0) return 'created';
    return isSamePlant(plant, plantOf(this.#find.get(...row) as unknown[])) ? 'repeated' : 'conflict';
  }
}
