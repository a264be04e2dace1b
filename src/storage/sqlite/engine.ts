import { accessSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { existingDirectory } from '../../files/durable-files.js';
import { sqliteFile } from '../database-url.js';
import type { DatabaseOptions, Engine } from '../engines.js';
import type { PlantRepository, PlantSnapshot } from '../plant-repository.js';
import { sqliteStartError } from './errors.js';
import { FilesInPlace } from './files-in-place.js';
import { databaseExists, openSqliteDatabase, withSqliteDatabase } from './open.js';
import { SqliteRepository } from './repository.js';
import { trySqliteSchema, updateSqliteSchema } from './schema.js';
import { openSqliteSnapshot } from './snapshot.js';
import { assertSound, firstValue, type SqliteDatabase } from './statements.js';

const SETTINGS = [
  'journal_mode = WAL',
  // NORMAL, which is common with WAL, syncs only at checkpoints: a power cut would lose acknowledged plants.
  'synchronous = FULL',
  // macOS: otherwise, a sync may end before the disk has written. Elsewhere, it has no effect.
  'fullfsync = ON',
  // 8 MiB of log. Commits are slower until the log has its full length, so that must come soon after a start.
  'wal_autocheckpoint = 2000',
  // 4 MiB. With random ids only inner pages are read again, and this holds those of 30 million plants.
  'cache_size = -4096',
];

export const sqliteEngine: Engine = {
  open: openSqliteRepository,
  snapshot: takeSqliteSnapshot,
  check: checkSqliteDatabase,
};

/** Opens or creates a database whose commits are on disk when they return. */
function openSqliteRepository(url: string, { timeout, ...options }: DatabaseOptions): Promise<PlantRepository> {
  const file = sqliteFile(url);
  const open = (database: SqliteDatabase): PlantRepository => {
    for (const setting of SETTINGS) database.exec(`PRAGMA ${setting}`);
    updateSqliteSchema(database);
    // SQLite follows symbolic links to the file.
    const realPath = firstValue(database, "SELECT file FROM pragma_database_list WHERE name = 'main'");
    const files = file === undefined ? undefined : new FilesInPlace(resolve(file), String(realPath));
    files?.syncLog();
    return new SqliteRepository(database, files, timeout);
  };
  return openSqliteDatabase(file, open, options);
}

async function takeSqliteSnapshot(url: string): Promise<PlantSnapshot | undefined> {
  const file = sqliteFile(url);
  return file === undefined ? undefined : openSqliteSnapshot(file);
}

async function checkSqliteDatabase(url: string): Promise<boolean> {
  const file = sqliteFile(url);
  if (file === undefined) return false;
  if (!databaseExists(file)) {
    assertCreatable(file);
    return false;
  }
  // Apart, because it takes longer in a large database than the trial plants may wait for a running service.
  await withSqliteDatabase(file, assertSound);
  return withSqliteDatabase(file, trySqliteSchema);
}

/** @throws {OperatorError} if this user cannot create the database */
function assertCreatable(file: string): void {
  try {
    // With the slash, a file instead of the directory is refused, too.
    accessSync(`${existingDirectory(dirname(resolve(file)))}/`, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw sqliteStartError(file, error);
  }
}
