import { existsSync } from 'node:fs';
import type { Configuration } from '../config/configuration.js';
import { type DatabaseOptions, sqliteFile } from '../storage/database-options.js';
import { openRepository, openSnapshot } from '../storage/open-repository.js';
import type { PlantRepository, PlantSnapshot } from '../storage/plant-repository.js';
import { CommandError, EXIT_STATUS } from './exit-status.js';

/**
 * Opens a store, or creates it.
 *
 * @throws {CommandError} for a database in memory
 */
export async function openStore(url: string, configuration: Configuration): Promise<PlantRepository> {
  assertLasting(url);
  return openRepository(url, optionsOf(configuration));
}

/**
 * Takes a snapshot of a store, which stays as it is.
 *
 * @returns undefined if it does not exist yet
 * @throws {CommandError} for a database in memory
 */
export async function openStoreSnapshot(url: string, configuration: Configuration): Promise<PlantSnapshot | undefined> {
  assertLasting(url);
  return openSnapshot(url, optionsOf(configuration));
}

/**
 * Takes a snapshot of a store that exists, which stays as it is.
 *
 * @param variable the variable or the option that names the store
 * @throws {CommandError} if it does not exist
 */
export async function openExistingSnapshot(
  url: string,
  variable: string,
  configuration: Configuration,
): Promise<PlantSnapshot> {
  const snapshot = await openStoreSnapshot(url, configuration);
  if (snapshot !== undefined) return snapshot;
  const file = sqliteFile(url);
  if (file !== undefined && !existsSync(file)) {
    throw new CommandError(`there is no database ${file}: ${variable} must name one that exists`);
  }
  throw new CommandError(`the database of ${variable} has no table of plants: no service has used it`);
}

function assertLasting(url: string): void {
  if (sqliteFile(url) !== ':memory:') return;
  throw new CommandError('a database in memory ends with its process: name a file', EXIT_STATUS.badUsage);
}

function optionsOf(configuration: Configuration): DatabaseOptions {
  return {
    timeout: configuration.storeTimeout,
    startTimeout: configuration.databaseStartTimeout,
    poolSize: configuration.databasePoolSize,
  };
}
