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
  return copy(file, target, 'name another file', assertSound);
}

/**
 * Copies a backup to the file of a SQLite database, which must not exist yet.
 *
 * @returns the number of plants
 * @throws {OperatorError} when nothing was stored, for example because a start would refuse the database
 */
export async function restore(file: string, backup: string): Promise<number> {
  if (!existsSync(backup)) throw new OperatorError(`there is no file ${backup}: name a backup`);
  return copy(backup, file, 'it may have plants, so move it away first, or import into it', (database) => {
    // A copy of the file alone lacks the plants in the log.
    if (firstValue(database, 'PRAGMA journal_mode') === 'wal') {
      throw new Error('it is the database of a service, or a copy of one: make a backup of it with plant-store backup');
    }
    assertSound(database);
    makeDirectory(dirname(resolve(file)));
  });
}

/**
 * Copies a database. The file appears complete and on disk, or not at all.
 *
 * @param advice for the operator if the file, or one that SQLite keeps beside it, exists
 * @param prepareCopy refuses the source, or makes ready for the copy
 * @returns the number of plants
 */
async function copy(
  source: string,
  target: string,
  advice: string,
  prepareCopy: (database: SqliteDatabase) => void,
): Promise<number> {
  // SQLite would apply a log that it finds to the new file.
  for (const old of ['', '-wal', '-shm', '-journal'].map((ending) => target + ending)) {
    if (existsSync(old)) throw alreadyExists(old, advice);
  }
  return publishFile(target, async (draft) => {
    await withDatabase(source, (database) => {
      prepareCopy(database);
      try {
        // SQLite would create a file that other users can read.
        createFile(draft);
        prepare(database, 'VACUUM INTO ?').run(resolve(draft));
      } catch (error) {
        throw new OperatorError(`${target} cannot be written: ${errorMessage(error)}`, { cause: error });
      }
    });
    return withDatabase(draft, (database) => Number(firstValue(database, 'SELECT count(*) FROM plants')), {
      name: target,
    });
  });
}
