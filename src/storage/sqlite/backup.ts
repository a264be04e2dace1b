import { existsSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { OperatorError } from '../../operator-error.js';
import { createFileAndDirectory } from '../../files/durable-files.js';
import { explainReadError } from '../../files/file-errors.js';
import { publishFile } from '../../files/publish-file.js';
import { UnusableDatabaseError } from '../engine-errors.js';
import { errorMessage, noDatabase } from '../error-messages.js';
import { NO_TABLE } from '../schema-state.js';
import { databaseExists, openSqliteDatabase, withSqliteDatabase } from './open.js';
import { rehearseSqliteSchema, readSchemaState } from './schema.js';
import { assertSound, firstValue, prepare, type SqliteDatabase } from './statements.js';

/** Endings of the files that SQLite keeps beside a database. It would copy a log that it finds into a new database. */
const COMPANIONS = ['-journal', '-wal', '-shm'] as const;

/**
 * Copies a SQLite database to a new file while services write to it. The copy has every plant that was acknowledged
 * before the call, and of later batches either all or nothing.
 *
 * @returns the number of plants in the copy
 * @throws {OperatorError} when the copy cannot be made
 */
export async function backUp(file: string, target: string): Promise<number> {
  if (!databaseExists(file)) throw noDatabase(file);
  const directory = dirname(resolve(target));
  if (!existsSync(directory)) throw new OperatorError(`there is no directory ${directory}: create it first`);
  return copy(file, target, 'name another file');
}

/**
 * Copies a backup to the file of a SQLite database, which must not exist yet.
 *
 * @returns the number of plants
 * @throws {OperatorError} when nothing was stored, for example because a start would refuse the database
 */
export async function restore(file: string, backup: string): Promise<number> {
  await assertBackup(backup);
  return copy(backup, file, 'it may have plants, so move it away first, or import into it', rehearseSqliteSchema);
}

/** @throws {OperatorError} if a file cannot be a backup, or cannot be read */
async function assertBackup(file: string): Promise<void> {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
      throw new OperatorError(`there is no file ${file}: name a backup`);
    }
    if (await usesLog(file)) {
      throw new OperatorError(
        `${file} is not a backup, but a database of a service, or a copy of one: make a backup of it with plant-store backup`,
      );
    }
  } catch (error) {
    throw explainReadError(file, error);
  }
}

/** Returns whether a database uses a write-ahead log, so that a copy of its file may lack plants. No backup uses one. */
async function usesLog(file: string): Promise<boolean> {
  const handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(20)).finally(() => handle.close());
  // The format of the header: https://sqlite.org/fileformat2.html#the_database_header
  return buffer.toString('latin1', 0, 15) === 'SQLite format 3' && buffer[18] === 2;
}

/**
 * Copies a database. The file appears complete, checked and on disk, or not at all.
 *
 * @param advice for the operator if the file, or one that SQLite keeps beside it, exists
 * @param assertUsable refuses the copy, which it leaves as it is
 */
function copy(
  source: string,
  target: string,
  advice: string,
  assertUsable?: (copied: SqliteDatabase) => unknown,
): Promise<number> {
  const write = async (draft: string): Promise<number> => {
    const { database } = await openSqliteDatabase(source, assertComplete);
    try {
      createFileAndDirectory(draft);
      writeCopy(database, draft, target);
    } finally {
      database.close();
    }
    return inspect(draft, source, assertUsable);
  };
  return publishFile(target, write, { companions: COMPANIONS, createsDirectory: true, ifExists: advice });
}

/** @param target the file that the draft becomes, for the message */
function writeCopy(database: SqliteDatabase, draft: string, target: string): void {
  try {
    // A signal ends the program only after SQLite has copied or checked, which blocks the process.
    prepare(database, 'VACUUM INTO ?').run(draft);
  } catch (error) {
    throw new OperatorError(
      `nothing was copied, because ${target} could not be written (${errorMessage(error)}): check that its disk has room`,
      { cause: error },
    );
  }
}

/**
 * Checks a copy of a database.
 *
 * @param source the database, for the message
 * @returns the number of its plants
 */
function inspect(draft: string, source: string, assertUsable?: (copied: SqliteDatabase) => unknown): Promise<number> {
  const work = (copied: SqliteDatabase): number => {
    assertComplete(copied);
    assertUsable?.(copied);
    return Number(firstValue(copied, 'SELECT count(*) FROM plants'));
  };
  // The message of an error names the source, because there is no draft any more.
  return withSqliteDatabase(draft, work, { name: source });
}

/** @throws {UnusableDatabaseError} if any page of the database is damaged, or there is no table of plants */
function assertComplete(database: SqliteDatabase): void {
  assertSound(database);
  if (!readSchemaState(database).hasPlants) throw new UnusableDatabaseError(NO_TABLE);
}
