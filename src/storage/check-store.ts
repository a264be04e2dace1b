import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type DatabaseOptions, sqliteFile } from './database-options.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';
import { sqliteStartError } from './sqlite-errors.js';
import { assertKnownSchema, assertReadable, hasPlants } from './sqlite-schema.js';

/** `new` if a start creates the database or its tables, and `present` if it finds them. */
export type StoreState = 'present' | 'new';

/**
 * Checks that `openRepository` can open a store, and creates and changes nothing.
 *
 * @throws {RepositoryStartError} as `openRepository`
 */
export async function checkStore(url: string, options: DatabaseOptions, driver?: SqliteDriver): Promise<StoreState> {
  const file = sqliteFile(url);
  if (file !== undefined) return checkSqliteFile(file, driver);
  const { checkPostgresDatabase } = await import('./postgres-repository.js');
  return (await checkPostgresDatabase(url, options)) ? 'present' : 'new';
}

async function checkSqliteFile(file: string, driver: SqliteDriver | undefined): Promise<StoreState> {
  let database: SqliteDatabase | undefined;
  try {
    if (file === ':memory:') return 'new';
    if (!existsSync(file)) {
      // With the dot, the system refuses a file that is no directory.
      accessSync(`${existingAncestor(resolve(file))}/.`, constants.W_OK | constants.X_OK);
      return 'new';
    }
    database = await openSqliteDatabase(file, driver);
    database.exec('PRAGMA busy_timeout = 5000');
    assertKnownSchema(database);
    // Fails if the database is read-only, or if another program locks it.
    database.exec('BEGIN IMMEDIATE');
    const isPresent = hasPlants(database);
    if (isPresent) assertReadable(database);
    database.exec('ROLLBACK');
    return isPresent ? 'present' : 'new';
  } catch (error) {
    throw sqliteStartError(file, error);
  } finally {
    database?.close();
  }
}

/** Returns the lowest directory above a path that exists. */
function existingAncestor(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) ? parent : existingAncestor(parent);
}
