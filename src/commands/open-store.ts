import { existsSync } from 'node:fs';
import type { Configuration } from '../config/configuration.js';
import { CommandError, EXIT_STATUS } from '../process/exit-status.js';
import type { DatabaseOptions } from '../storage/database-options.js';
import { openRepository, openSnapshot } from '../storage/open-repository.js';
import {
  type PlantRepository,
  type PlantSnapshot,
  RepositoryStartError,
  RepositoryUnavailableError,
} from '../storage/plant-repository.js';
import { sqliteFile } from '../storage/sqlite-engine.js';

/**
 * Opens a store, or creates it.
 *
 * @param variable the variable or the option that names the store
 * @throws {CommandError} if it cannot be opened, or is in memory
 */
export async function openStore(url: string, variable: string, configuration: Configuration): Promise<PlantRepository> {
  assertLasting(url, variable);
  return openRepository(url, optionsOf(configuration)).catch((error: unknown) => refuse(variable, error));
}

/**
 * Takes a snapshot of a store, which stays as it is.
 *
 * @param variable the variable or the option that names the store
 * @returns undefined if it does not exist yet
 * @throws {CommandError} if it cannot be opened, or is in memory
 */
export async function openStoreSnapshot(
  url: string,
  variable: string,
  configuration: Configuration,
): Promise<PlantSnapshot | undefined> {
  assertLasting(url, variable);
  return openSnapshot(url, optionsOf(configuration)).catch((error: unknown) => refuse(variable, error));
}

/**
 * Takes a snapshot of a store that exists, which stays as it is.
 *
 * @param variable the variable or the option that names the store
 * @throws {CommandError} if it does not exist, cannot be opened, or is in memory
 */
export async function openExistingSnapshot(
  url: string,
  variable: string,
  configuration: Configuration,
): Promise<PlantSnapshot> {
  const snapshot = await openStoreSnapshot(url, variable, configuration);
  if (snapshot !== undefined) return snapshot;
  const file = sqliteFile(url);
  if (file !== undefined && !existsSync(file)) {
    throw new CommandError(`there is no database ${file}: ${variable} must name one that exists`);
  }
  throw new CommandError(`the database of ${variable} has no table of plants: no service has used it`);
}

function assertLasting(url: string, variable: string): void {
  if (sqliteFile(url) !== ':memory:') return;
  throw new CommandError(`${variable}: a database in memory ends with its process: name a file`, EXIT_STATUS.badUsage);
}

/** Says which store an error is about: some commands use two. */
function refuse(variable: string, error: unknown): never {
  if (!(error instanceof RepositoryStartError || error instanceof RepositoryUnavailableError)) throw error;
  throw new CommandError(`${variable}: ${error.message}`, EXIT_STATUS.failed, { cause: error });
}

function optionsOf(configuration: Configuration): DatabaseOptions {
  return {
    timeout: configuration.storeTimeout,
    startTimeout: configuration.databaseStartTimeout,
  };
}
