import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createEmptyFile } from '../files/create-empty-file.js';
import { syncDirectory } from '../files/sync-directory.js';
import { messageOf } from './message-of.js';
import { firstValue, openSqliteDatabase, prepare, type SqliteDatabase } from './sqlite-database.js';
import { sqliteFailure, sqliteStartError } from './sqlite-errors.js';
import { assertKnownSchema, hasPlants } from './sqlite-schema.js';

/** Endings of the files that SQLite keeps beside a database. */
export const COMPANIONS = ['-journal', '-wal', '-shm'] as const;

/** A database cannot be copied; the message is one line for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/**
 * Copies a SQLite database to a new file while services write to it. The copy has every plant that was acknowledged
 * before the call, and of later batches either all or nothing.
 *
 * @param signal ends the backup, but not while SQLite copies or checks
 * @returns the number of plants in the copy
 * @throws {BackupError | RepositoryStartError} when the copy cannot be made
 */
export async function backUp(file: string, target: string, signal: AbortSignal): Promise<number> {
  if (!existsSync(file)) throw new BackupError(`there is no database ${file}: DATABASE_URL must name one that exists`);
  assertWritable(dirname(resolve(target)));
  return copy(file, target, 'name another file', signal);
}

/**
 * Copies a backup to the file of a SQLite database, which must not exist yet.
 *
 * @param signal ends the copy, but not while SQLite copies or checks
 * @returns the number of plants
 * @throws {BackupError | RepositoryStartError} when nothing was stored
 */
export async function restore(file: string, backup: string, signal: AbortSignal): Promise<number> {
  assertIsBackup(backup);
  return copy(backup, file, 'it may have plants, so move it away first, or import into it', signal);
}

/**
 * Copies a database. The file appears complete, checked and on disk, or not at all.
 *
 * @param advice for the operator if the file, or one that SQLite keeps beside it, exists
 */
async function copy(source: string, target: string, advice: string, signal: AbortSignal): Promise<number> {
  assertFree(target, advice);
  const draft = `${resolve(target)}.${randomUUID()}`;
  const database = await openSound(source);
  try {
    createEmptyFile(draft);
    prepare(database, 'VACUUM INTO ?').run(draft);
    const plants = await countPlants(draft);
    sync(draft);
    // Lets a signal arrive: the second of two turns of the event loop begins with reading it.
    await setImmediate();
    await setImmediate();
    signal.throwIfAborted();
    assertFree(target, advice);
    publish(draft, target, advice);
    return plants;
  } catch (error) {
    if (sqliteFailure(error) === undefined) throw error;
    throw new BackupError(
      `nothing was copied, because ${target} could not be written (${messageOf(error)}): check its disk, and the room there`,
      { cause: error },
    );
  } finally {
    database.close();
    for (const suffix of ['', ...COMPANIONS]) rmSync(draft + suffix, { force: true });
  }
}

/** Checks a companion, too: SQLite would copy a write-ahead log that it finds beside a database into it. */
function assertFree(target: string, advice: string): void {
  const existing = ['', ...COMPANIONS].map((suffix) => target + suffix).find((path) => existsSync(path));
  if (existing !== undefined) throw new BackupError(`${existing} already exists: ${advice}`);
}

function assertWritable(directory: string): void {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new BackupError(`${directory} is not writable: name a file in a directory where this user may write`, {
      cause,
    });
  }
}

/** Refuses what `backUp` does not make. A copy of a live database may lack what its write-ahead log has. */
function assertIsBackup(backup: string): void {
  if (!existsSync(backup)) throw new BackupError(`there is no file ${backup}: name a backup`);
  if (!statSync(backup).isFile()) throw new BackupError(`${backup} is not a regular file: name a backup`);
  const header = Buffer.alloc(20);
  const descriptor = openSync(backup, 'r');
  try {
    readSync(descriptor, header, 0, header.length, 0);
  } finally {
    closeSync(descriptor);
  }
  // https://sqlite.org/fileformat2.html#the_database_header
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') {
    throw new BackupError(`${backup} is not a backup: it is not a SQLite database`);
  }
  if (header[18] === 2) {
    throw new BackupError(
      `${backup} is not a backup, but a database of a service, or a copy of one: make a backup of it with plant-store backup`,
    );
  }
}

/** Opens a database, and checks all of it. */
async function openSound(file: string): Promise<SqliteDatabase> {
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqliteDatabase(file);
    const found = String(firstValue(database, 'PRAGMA integrity_check'));
    if (found !== 'ok') throw new BackupError(`${file} is damaged: ${found.replaceAll('\n', ' ')}`);
    if (!hasPlants(database)) throw new BackupError(`${file} has no table of plants`);
    assertKnownSchema(database);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof BackupError ? error : sqliteStartError(file, error);
  }
}

async function countPlants(draft: string): Promise<number> {
  const database = await openSound(draft);
  try {
    return Number(firstValue(database, 'SELECT count(*) FROM plants'));
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

/** Gives the draft its name durably. Unlike a rename, a link does not replace a file that appeared meanwhile. */
function publish(draft: string, target: string, advice: string): void {
  try {
    linkSync(draft, target);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new BackupError(`${target} already exists: ${advice}`, { cause });
    throw new BackupError(`${target} cannot be created (${code}): name a file on a file system with hard links`, {
      cause,
    });
  }
  rmSync(draft);
  syncDirectory(dirname(draft));
}
