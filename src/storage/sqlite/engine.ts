import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createFile, makeDirectory } from '../../files/durable-files.js';
import type { SqliteUrl } from '../database-url.js';
import type { DatabaseOptions, DatabaseState, Engine } from '../engine.js';
import { startError } from '../errors.js';
import type { PlantRepository } from '../plant-repository.js';
import { exists, firstValue, IN_MEMORY, openDatabase, type SqliteDatabase, withDatabase } from './database.js';
import { readPlants } from './read-plants.js';
import { SqliteRepository } from './repository.js';
import { assertSound, updateSchema } from './schema.js';

const SETTINGS = [
  'journal_mode = WAL',
  // With NORMAL, which is common with WAL, SQLite syncs only at checkpoints: a power cut would lose acknowledged
  // plants.
  'synchronous = FULL',
  // Without this setting, a sync on macOS may end before the disk has written. On other systems, it has no effect.
  'fullfsync = ON',
  // The log has 8 MiB. Commits are slower until it has its full length, which must be soon after a start.
  'wal_autocheckpoint = 2000',
  // The cache of 4 MiB holds the inner pages of 30 million plants. With random ids, SQLite reads only inner pages
  // again.
  'cache_size = -4096',
];

export function sqliteEngine({ file = IN_MEMORY }: SqliteUrl): Engine {
  return {
    open: (options) => openSqliteRepository(file, options),
    plants: () => readPlants(file),
    inspect: () => inspectDatabase(file),
  };
}

/** Opens or creates a database whose commits are on disk when they return. */
async function openSqliteRepository(file: string, { timeout }: DatabaseOptions): Promise<PlantRepository> {
  if (file !== IN_MEMORY && !existsSync(file)) prepareFile(resolve(file));
  const setUp = (database: SqliteDatabase): PlantRepository => {
    for (const setting of SETTINGS) database.exec(`PRAGMA ${setting}`);
    updateSchema(database);
    return new SqliteRepository(database, file === IN_MEMORY ? undefined : resolve(file), timeout);
  };
  return openDatabase(file, setUp);
}

/** Creates the directory of a new database, which SQLite does not. */
function prepareFile(file: string): void {
  try {
    makeDirectory(dirname(file));
    // A file that SQLite creates would belong to root, and not to the user of the service.
    if (process.getuid?.() === 0) createFile(file);
  } catch (error) {
    throw startError(file, error);
  }
}

async function inspectDatabase(file: string): Promise<DatabaseState> {
  if (file === IN_MEMORY || !exists(file)) return 'new';
  return withDatabase(file, (database) => {
    const hasPlants = firstValue(database, "SELECT 1 FROM sqlite_schema WHERE name = 'plants'") !== undefined;
    if (!hasPlants) return 'new';
    assertSound(database);
    return 'present';
  });
}
