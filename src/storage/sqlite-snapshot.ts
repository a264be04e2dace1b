import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { PlantSnapshot } from './plant-repository.js';
import { type SnapshotConnection, SqlSnapshot } from './sql-snapshot.js';
import { openSqliteDatabase, prepare, type SqliteDatabase } from './sqlite-database.js';
import { sqliteStartError } from './sqlite-errors.js';
import { hasPlants, schemaVersion } from './sqlite-schema.js';

/**
 * Takes a snapshot of a file on a connection of its own, so that a writer goes on. It changes neither its schema nor its
 * journal mode. While it is open, a checkpoint cannot reset the write-ahead log, which grows.
 *
 * @returns undefined if there is no file, or no table of plants in it
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function openSqliteSnapshot(file: string): Promise<PlantSnapshot | undefined> {
  if (!existsSync(file)) return undefined;
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqliteDatabase(file);
    // The transaction takes its snapshot when it reads for the first time.
    database.exec('BEGIN');
    schemaVersion(database);
    if (hasPlants(database)) return new SqlSnapshot(connectionOf(database));
    database.close();
    return undefined;
  } catch (error) {
    database?.close();
    throw sqliteStartError(file, error);
  }
}

function connectionOf(database: SqliteDatabase): SnapshotConnection {
  return {
    arrayFunction: 'json_group_array',
    async query(sql) {
      // Lets a signal arrive: reading from SQLite never waits.
      await setImmediate();
      return prepare(database, sql).all() as unknown[][];
    },
    close() {
      database.close();
      return Promise.resolve();
    },
  };
}
