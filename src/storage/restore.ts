import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createEmptyFile } from '../files/create-empty-file.js';
import { COLUMN_NAMES } from './plant-columns.js';
import { MAX_ID, MIN_ID } from './snapshot-page.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';
import { sqliteStartError } from './sqlite-errors.js';
import { assertKnownSchema, hasPlants, updateSqliteSchema } from './sqlite-schema.js';

/** The store cannot be restored; the message is one line for the operator. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

/** Plants that are copied between two reports of progress. */
const STEP = 20_000;

/**
 * Copies the plants of a backup into a SQLite database that has none, or that does not exist yet. All plants are stored
 * and on disk when this resolves, or none. The file is not replaced: a service that starts meanwhile opens the same
 * file, and waits for the lock.
 *
 * @param onProgress called with the numbers of copied plants and of all plants
 * @returns the number of plants
 * @throws {RestoreError | RepositoryStartError} when nothing was stored
 */
export async function restore(
  file: string,
  backup: string,
  { signal, onProgress, driver }: RestoreOptions,
): Promise<number> {
  assertFileOfBackup(backup);
  const source = await openBackup(backup, driver);
  try {
    const total = count(source);
    // The source stays open: its transaction keeps other programs from changing the backup.
    const target = await openTarget(file, driver);
    try {
      target.prepare('ATTACH ? AS backup').run(resolve(backup));
      // IMMEDIATE and EXCLUSIVE would lock the backup, too.
      target.exec('BEGIN');
      if (target.prepare('SELECT 1 FROM main.plants LIMIT 1').get() !== undefined) {
        throw new RestoreError(`${file} has plants already: move it away first, or import into it`);
      }
      await copyPlants(target, (copied) => {
        signal.throwIfAborted();
        onProgress(copied, total);
      });
      target.exec('COMMIT');
      return total;
    } catch (error) {
      throw error instanceof RestoreError || error === signal.reason ? error : sqliteStartError(file, error);
    } finally {
      // Without the commit, this rolls back.
      target.close();
    }
  } finally {
    source.close();
  }
}

export interface RestoreOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (copied: number, total: number) => void;
  readonly driver?: SqliteDriver;
}

/** Refuses what `backUp` does not make. A copy of a live database may lack what its write-ahead log has. */
function assertFileOfBackup(backup: string): void {
  if (!existsSync(backup)) throw new RestoreError(`there is no file ${backup}: name a backup`);
  if (!statSync(backup).isFile()) throw new RestoreError(`${backup} is not a regular file: name a backup`);
  const header = Buffer.alloc(20);
  const descriptor = openSync(backup, 'r');
  try {
    readSync(descriptor, header, 0, header.length, 0);
  } finally {
    closeSync(descriptor);
  }
  // https://sqlite.org/fileformat2.html#the_database_header
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') {
    throw new RestoreError(`${backup} is not a backup: it is not a SQLite database`);
  }
  if (header[18] === 2) {
    throw new RestoreError(
      `${backup} is not a backup, but a database of a service, or a copy of one: make a backup of it with plant-store backup`,
    );
  }
}

/** Opens and checks a backup, in a transaction. */
async function openBackup(backup: string, driver: SqliteDriver | undefined): Promise<SqliteDatabase> {
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqliteDatabase(backup, driver, { readOnly: true });
    database.exec('BEGIN');
    const { integrity_check: found } = database.prepare('PRAGMA integrity_check').get() as { integrity_check: string };
    if (found !== 'ok') throw new RestoreError(`${backup} is damaged: ${found.replaceAll('\n', ' ')}`);
    if (!hasPlants(database)) {
      throw new RestoreError(`${backup} is not a backup: it has no table of plants`);
    }
    assertKnownSchema(database);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof RestoreError ? error : sqliteStartError(backup, error);
  }
}

/** Opens or creates a database that no other process has open. */
async function openTarget(file: string, driver: SqliteDriver | undefined): Promise<SqliteDatabase> {
  let database: SqliteDatabase | undefined;
  try {
    create(resolve(file));
    database = await openSqliteDatabase(file, driver);
    // Fails while another connection is open, even an idle one: in WAL mode, each holds a lock of the file until it
    // closes (https://sqlite.org/wal.html#sometimes_queries_return_sqlite_busy_in_wal_mode). Removes the write-ahead log.
    database.exec('PRAGMA journal_mode = DELETE');
    // The commit is on disk when the directory has no journal any more.
    database.exec('PRAGMA synchronous = EXTRA');
    // A service that starts waits for the lock as long, and the commit waits for such a service.
    database.exec('PRAGMA busy_timeout = 5000');
    updateSqliteSchema(database);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof RestoreError ? error : sqliteStartError(file, error);
  }
}

/** Creates an empty file that the service can use, unless there is one. */
function create(path: string): void {
  if (existsSync(path)) return;
  for (const log of [`${path}-wal`, `${path}-journal`]) {
    // SQLite would delete it. It may have the last plants of a database that was moved away.
    if (existsSync(log) && statSync(log).size > 0) {
      throw new RestoreError(`${log} belongs to a database that is not there: move it to that database first`);
    }
  }
  createEmptyFile(path);
}

/** Copies the plants in steps, so that the process can handle signals. */
async function copyPlants(database: SqliteDatabase, onProgress: (copied: number) => void): Promise<void> {
  const insert = database.prepare(
    `INSERT INTO main.plants (${COLUMN_NAMES.join()}) SELECT ${COLUMN_NAMES.join()} FROM backup.plants WHERE id >= ? ORDER BY id LIMIT ${STEP}`,
  );
  const last = database.prepare('SELECT max(id) AS id FROM main.plants');
  let copied = 0;
  for (let next = MIN_ID; ;) {
    const inserted = Number(insert.run(next).changes);
    copied += inserted;
    // Lets a signal arrive, also when the copy is complete.
    await setImmediate();
    onProgress(copied);
    if (inserted < STEP) return;
    const { id } = last.get() as { readonly id: bigint };
    if (id === MAX_ID) return;
    next = id + 1n;
  }
}

function count(database: SqliteDatabase): number {
  const { count } = database.prepare('SELECT count(*) AS count FROM plants').get() as { readonly count: bigint };
  return Number(count);
}
