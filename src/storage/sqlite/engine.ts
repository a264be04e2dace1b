import { accessSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { existingDirectory } from '../../files/directories.js';
import type { SqliteUrl } from '../database-url.js';
import type { DatabaseOptions, Engine } from '../engines.js';
import type { PlantRepository } from '../plant-repository.js';
import { sqliteStartError } from './errors.js';
import { FilesInPlace } from './files-in-place.js';
import { databaseExists, openSqliteDatabase, withSqliteDatabase } from './open.js';
import { SqliteRepository } from './repository.js';
import { rehearseSqliteSchema, updateSqliteSchema } from './schema.js';
import { openSqliteSnapshot } from './snapshot.js';
import { assertSound, firstValue, type SqliteDatabase } from './statements.js';

const SETTINGS = [
  'journal_mode = WAL',
  // With NORMAL, which is common with WAL, SQLite syncs only at checkpoints: a power cut would lose acknowledged plants.
  'synchronous = FULL',
  // Without this setting, a sync on macOS may end before the disk has written. On other systems, it has no effect.
  'fullfsync = ON',
  // The log has 8 MiB. Commits are slower until it has its full length, which must be soon after a start.
  'wal_autocheckpoint = 2000',
  // The cache of 4 MiB holds the inner pages of 30 million plants. With random ids, SQLite reads only inner pages again.
  'cache_size = -4096',
];

export function sqliteEngine({ file }: SqliteUrl): Engine {
  return {
    open: (options) => openSqliteRepository(file, options),
    snapshot: async () => (file === undefined ? undefined : openSqliteSnapshot(file)),
    check: () => checkSqliteDatabase(file),
  };
}

/**
 * Opens or creates a database whose commits are on disk when they return.
 *
 * @param file undefined for a database in memory
 */
async function openSqliteRepository(
  file: string | undefined,
  { timeout, ...options }: DatabaseOptions,
): Promise<PlantRepository> {
  const setUp = (database: SqliteDatabase): PlantRepository => {
    for (const setting of SETTINGS) database.exec(`PRAGMA ${setting}`);
    updateSqliteSchema(database);
    // SQLite follows symbolic links to the file.
    const realPath = firstValue(database, "SELECT file FROM pragma_database_list WHERE name = 'main'");
    const files = file === undefined ? undefined : new FilesInPlace(resolve(file), String(realPath));
    files?.syncLog();
    return new SqliteRepository(database, files, timeout);
  };
  const { result: repository } = await openSqliteDatabase(file, setUp, options);
  return repository;
}

async function checkSqliteDatabase(file: string | undefined): Promise<boolean> {
  if (file === undefined) return false;
  if (!databaseExists(file)) {
    assertCreatable(file);
    return false;
  }
  // Checked in a separate step: in a large database, this takes longer than a running service may wait for trial plants.
  await withSqliteDatabase(file, assertSound);
  return withSqliteDatabase(file, rehearseSqliteSchema);
}

/** @throws {OperatorError} if this user cannot create the database */
function assertCreatable(file: string): void {
  try {
    // The slash makes sure that a file instead of the directory is refused.
    accessSync(`${existingDirectory(dirname(resolve(file)))}/`, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw sqliteStartError(file, error);
  }
}
