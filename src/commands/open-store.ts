import { existsSync } from 'node:fs';
import type { Configuration } from '../config/configuration.js';
import { sqliteFile } from '../storage/database-options.js';
import { openRepository } from '../storage/open-repository.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { CommandError, EXIT_STATUS } from './exit-status.js';

/**
 * Opens a store, or creates it.
 *
 * @throws {CommandError} for a database in memory
 */
export async function openStore(url: string, configuration: Configuration): Promise<PlantRepository> {
  if (sqliteFile(url) === ':memory:') {
    throw new CommandError('a database in memory ends with its process: name a file', EXIT_STATUS.badUsage);
  }
  return openRepository(url, {
    timeout: configuration.storeTimeout,
    startTimeout: configuration.databaseStartTimeout,
    poolSize: configuration.databasePoolSize,
  });
}

/**
 * Opens a store that exists.
 *
 * @param variable the variable or the option that names the store
 * @throws {CommandError} if it does not exist
 */
export async function openExistingStore(
  url: string,
  variable: string,
  configuration: Configuration,
): Promise<PlantRepository> {
  if (!mayExist(url)) {
    throw new CommandError(`there is no database ${String(sqliteFile(url))}: ${variable} must name one that exists`);
  }
  return openStore(url, configuration);
}

/** Returns false if the URL names a SQLite file that does not exist. */
export function mayExist(url: string): boolean {
  const file = sqliteFile(url);
  return file === undefined || file === ':memory:' || existsSync(file);
}
