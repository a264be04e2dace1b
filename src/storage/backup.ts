import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { syncDirectory } from '../files/sync-directory.js';
import { sqliteFile } from './database-options.js';
import { messageOf } from './message-of.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';
import { sqliteFailure, sqliteStartError } from './sqlite-errors.js';

/** Files that SQLite keeps beside a database, under its name with these endings. */
const COMPANIONS = ['-journal', '-wal', '-shm'];

/** This program cannot copy this store, or to this name; the message is one line for the operator. */
export class NoBackupError extends Error {
  override readonly name = 'NoBackupError';
}

/** The copy cannot be made; the message is one line for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/**
 * Copies a store to a new file while services write to it. The copy has every plant that was acknowledged before the
 * call, and of later batches either all or nothing. The file appears complete, checked and on disk, or not at all.
 *
 * @param url as for `openRepository`
 * @param onProgress called with the part that is copied, from 0 to 1; an error that it throws ends the backup
 * @returns the number of plants in the copy
 * @throws {NoBackupError} when the URL names a store that this cannot copy, or the target is no name for a database
 * @throws {BackupError | RepositoryStartError} when the copy cannot be made
 */
export async function backUp(
  url: string,
  target: string,
  onProgress: (part: number) => void,
  driver?: SqliteDriver,
): Promise<number> {
  const file = sqliteFile(url);
  if (file === undefined) {
    throw new NoBackupError('a PostgreSQL database is backed up with its own tools: pg_dump, or pg_basebackup');
  }
  if (file === ':memory:')
    throw new NoBackupError('a database in memory cannot be backed up: it ends with its process');
  assertNameOfDatabase(target);
  assertNew(target);
  // An absolute path, because node:sqlite takes a name that begins with `file:` as a URI.
  const draft = `${resolve(target)}.${randomUUID()}`;
  try {
    const source = await openSource(file, driver);
    try {
      create(draft);
      await source.backup(draft, onProgress);
    } finally {
      source.close();
    }
    const count = await check(draft, driver);
    sync(draft);
    // Lets a signal arrive: this is the last moment at which the caller can end the backup.
    await setImmediate();
    onProgress(1);
    assertNew(target);
    publish(draft, target);
    return count;
  } catch (error) {
    if (sqliteFailure(error) === undefined) throw error;
    throw new BackupError(
      `no backup was made, because ${file} could not be copied (${messageOf(error)}): check its disk, and the room for ${target}`,
      { cause: error },
    );
  } finally {
    for (const suffix of ['', ...COMPANIONS]) rmSync(draft + suffix, { force: true });
  }
}

function assertNameOfDatabase(target: string): void {
  if (target === '-') throw new NoBackupError('a database cannot be written to stdout: name a file to create');
  if (target === '') throw new NoBackupError('the name of the file is empty: name a file to create');
  // Some file systems ignore case.
  const companion = COMPANIONS.find((suffix) => target.toLowerCase().endsWith(suffix));
  if (companion !== undefined) {
    throw new NoBackupError(
      `${target} is the name of a file that SQLite keeps beside a database: name a file that does not end with ${companion}`,
    );
  }
}

/** Refuses a companion, too: SQLite would copy a write-ahead log that it finds beside the backup into the backup. */
function assertNew(target: string): void {
  for (const suffix of ['', ...COMPANIONS]) {
    if (existsSync(target + suffix)) throw new BackupError(`${target}${suffix} already exists: name another file`);
  }
}

/** Gives the draft its name durably. Unlike a rename, a link does not replace a file that appeared meanwhile. */
function publish(draft: string, target: string): void {
  try {
    linkSync(draft, target);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new BackupError(`${target} already exists: name another file`, { cause });
    throw new BackupError(`${target} cannot be created (${code}): name a file on a file system with hard links`, {
      cause,
    });
  }
  rmSync(draft);
  syncDirectory(dirname(draft));
}

/** Opens a connection that sees the database as it is now, without what is written later. */
async function openSource(file: string, driver: SqliteDriver | undefined): Promise<SqliteDatabase> {
  if (!existsSync(file)) throw new BackupError(`there is no database ${file}: DATABASE_URL must name one that exists`);
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqliteDatabase(file, driver);
    // A service may be starting or stopping.
    database.exec('PRAGMA busy_timeout = 5000');
    // Without a transaction, which holds the snapshot, each commit of a service would restart the copy.
    database.exec('BEGIN');
    database.prepare('SELECT id FROM plants LIMIT 1').get();
    return database;
  } catch (error) {
    database?.close();
    throw sqliteStartError(file, error);
  }
}

function create(draft: string): void {
  try {
    closeSync(openSync(draft, 'wx'));
  } catch (cause) {
    throw new BackupError(`${dirname(draft)} is not writable: name a file in a directory where this user may write`, {
      cause,
    });
  }
}

/** Checks the copy, and returns the number of plants in it. */
async function check(draft: string, driver: SqliteDriver | undefined): Promise<number> {
  const database = await openSqliteDatabase(draft, driver);
  try {
    // A single file that opens everywhere: a database in WAL mode cannot be read from a read-only medium.
    database.exec('PRAGMA journal_mode = DELETE');
    const { integrity_check: found } = database.prepare('PRAGMA integrity_check').get() as { integrity_check: string };
    if (found !== 'ok') {
      throw new BackupError(`no backup was made, because the database is damaged: ${found.replaceAll('\n', ' ')}`);
    }
    const { count } = database.prepare('SELECT count(*) AS count FROM plants').get() as { count: bigint };
    return Number(count);
  } finally {
    database.close();
  }
}

function sync(file: string): void {
  const descriptor = openSync(file, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
