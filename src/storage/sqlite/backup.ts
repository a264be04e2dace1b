import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { OperatorError } from '../../operator-error.js';
import { createFile, makeDirectory } from '../../files/durable-files.js';
import { alreadyExists } from '../../files/file-errors.js';
import { publishFile } from '../../files/publish-file.js';
import { errorMessage } from '../errors.js';
import { assertExists, firstValue, prepare, type SqliteDatabase, withDatabase } from './database.js';
import { assertSound } from './schema.js';

/**
 * Copies a SQLite database to a new file while services write to it. The copy has every plant that was acknowledged
 * before the call, and of later batches either all or nothing.
 *
 * @returns the number of plants in the copy
 * @throws {OperatorError} when the copy cannot be made
 */
export async function backUp(file: string, target: string): Promise<number> {
  assertExists(file);
  assertFree(target, 'name another file');
  return publishFile(target, async (draft) => {
    await withDatabase(file, assertSound);
    return copy(file, draft, target);
  });
}

/**
 * Copies a backup to the file of a SQLite database, which must not exist yet.
 *
 * @returns the number of plants
 * @throws {OperatorError} when nothing was stored, for example because a start would refuse the database
 */
export async function restore(file: string, backup: string): Promise<number> {
  if (!existsSync(backup)) throw new OperatorError(`there is no file ${backup}: name a backup`);
  assertFree(file, 'it may have plants, so move it away first, or import into it');
  return publishFile(file, async (draft) => {
    await withDatabase(backup, assertBackup);
    makeDirectory(dirname(resolve(file)));
    return copy(backup, draft, file);
  });
}

/**
 * @param advice for the operator
 * @throws {OperatorError} if there is such a database, or a file that SQLite keeps beside one
 */
function assertFree(file: string, advice: string): void {
  // SQLite would apply a log that it finds to the new file.
  for (const old of ['', '-wal', '-shm', '-journal'].map((ending) => file + ending)) {
    if (existsSync(old)) throw alreadyExists(old, advice);
  }
}

/** @throws if a start would refuse the database, or if it is not a backup */
function assertBackup(database: SqliteDatabase): void {
  // A copy of the file alone lacks the plants in the log.
  if (firstValue(database, 'PRAGMA journal_mode') === 'wal') {
    throw new Error('it is the database of a service, or a copy of one: make a backup of it with plant-store backup');
  }
  assertSound(database);
}

/**
 * Copies a database to the draft of a target, and returns the number of plants there.
 *
 * @throws {OperatorError} when the draft cannot be written
 */
async function copy(source: string, draft: string, target: string): Promise<number> {
  // If root makes the copy, a file that SQLite creates would belong to root, and not to the owner of the directory.
  createFile(draft);
  await withDatabase(source, (database) => {
    try {
      prepare(database, 'VACUUM INTO ?').run(resolve(draft));
    } catch (error) {
      throw new OperatorError(`${target} cannot be written: ${errorMessage(error)}`, { cause: error });
    }
  });
  return withDatabase(draft, (database) => Number(firstValue(database, 'SELECT count(*) FROM plants')));
}
