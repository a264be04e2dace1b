import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type * as Sqlite from '@photostructure/sqlite';
import { makeDirectory } from '../../files/directories.js';
import { createFileAndDirectory } from '../../files/durable-files.js';
import type { OperatorError } from '../../operator-error.js';
import { UnusableDatabaseError } from '../engine-errors.js';
import { retry } from '../retry.js';
import { isTransient, sqliteStartError } from './errors.js';
import type { SqliteDatabase } from './statements.js';

/** Node has SQLite itself from 24 on. For older versions, a package has the same API. */
const DRIVER = Number.parseInt(process.versions.node) >= 24 ? 'node:sqlite' : '@photostructure/sqlite';

/** Milliseconds that the opening waits for a lock of another process. */
const OPEN_TIMEOUT = 5_000;

/** Milliseconds before the operator is told of the lock. Services that share the file hold it for less. */
const QUIET_TIME = 1_000;

/** Milliseconds between two attempts to open. */
const OPEN_PAUSE = 20;

interface OpenOptions {
  /** Names the database to the operator. Defaults to its file. */
  readonly name?: string;
  /** True to create the directory of the database if it is missing. */
  readonly createsDirectory?: boolean | undefined;
  /** Called if another process has a lock for longer than a second, with the reason in one line for the operator. */
  readonly onWait?: ((reason: string) => void) | undefined;
}

/** The first work on an open database. */
type Work<Result> = (database: SqliteDatabase) => Result;

/** A database that its opener closes. */
interface Opened<Result> {
  readonly database: SqliteDatabase;
  /** The result of the first work. */
  readonly result: Result;
}

/**
 * Opens or creates a database, and does the first work on it. Both are repeated while another process has a lock.
 *
 * @param file undefined for a database in memory
 * @throws {OperatorError} when the database cannot be opened, or the work fails
 */
export async function openSqliteDatabase<Result>(
  file: string | undefined,
  work: Work<Result>,
  { name = file ?? ':memory:', createsDirectory = false, onWait }: OpenOptions = {},
): Promise<Opened<Result>> {
  // An absolute path, because SQLite takes a name that begins with `file:` as a URI.
  const path = file === undefined ? ':memory:' : resolve(file);
  const explain = (error: unknown): OperatorError => sqliteStartError(name, error);
  const open = (): Promise<Opened<Result>> => {
    if (file !== undefined) prepareFile(path, createsDirectory);
    return attempt(path, work);
  };
  const tellOperator = (error: unknown, lasted: number): void => {
    if (lasted > QUIET_TIME) onWait?.(explain(error).message);
  };
  try {
    return await retry(open, {
      retryFor: OPEN_TIMEOUT,
      isTransient,
      pause: () => OPEN_PAUSE,
      onFailure: tellOperator,
    });
  } catch (error) {
    throw explain(error);
  }
}

/** Opens a database as `openSqliteDatabase` does, and closes it after the work. */
export async function withSqliteDatabase<Result>(
  file: string,
  work: Work<Result>,
  options?: OpenOptions,
): Promise<Result> {
  const { database, result } = await openSqliteDatabase(file, work, options);
  database.close();
  return result;
}

/** Opens a database for work once, and closes it if that fails. */
async function attempt<Result>(path: string, work: Work<Result>): Promise<Opened<Result>> {
  const { DatabaseSync } = await loadDriver();
  const database = new DatabaseSync(path);
  try {
    // SQLite must not wait for a lock itself: it would block the process, and no signal would arrive.
    database.exec('PRAGMA busy_timeout = 0');
    return { database, result: work(database) };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** @throws {OperatorError} if this user may not search the directory; existsSync would return false */
export function databaseExists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw sqliteStartError(file, error);
  }
}

/**
 * Creates the directory, which SQLite does not. For root, it also creates an empty file that the service's user can open: a
 * file that SQLite creates would belong to root.
 *
 * @throws {UnusableDatabaseError} if there is no directory, or if there is anything but a file
 */
function prepareFile(path: string, createsDirectory: boolean): void {
  if (existsSync(path)) {
    // A device such as /dev/null would keep no plant.
    if (!statSync(path).isFile()) throw new UnusableDatabaseError('it is not a regular file; name another one');
    return;
  }
  const directory = dirname(path);
  if (createsDirectory) makeDirectory(directory);
  // A slip in the URL must not create another store.
  if (!existsSync(directory)) {
    throw new UnusableDatabaseError(
      `it is in a directory that does not exist; create ${directory}, or correct its URL`,
    );
  }
  if (process.getuid?.() === 0) createFileAndDirectory(path);
}

async function loadDriver(): Promise<typeof Sqlite> {
  try {
    return (await import(DRIVER)) as typeof Sqlite;
  } catch (error) {
    throw new UnusableDatabaseError(
      `it needs the package ${DRIVER}, with its binary for this platform, on Node before 24: npm install ${DRIVER}, or ` +
        'use a newer Node',
      { cause: error },
    );
  }
}
