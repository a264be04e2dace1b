import { existsSync } from 'node:fs';
import type { Configuration } from '../config/configuration.js';
import { CommandError } from '../process/command-error.js';
import { EXIT_STATUS } from '../process/exit-status.js';
import type { DatabaseOptions } from '../storage/engines.js';
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
export function openStore(url: string, variable: string, configuration: Configuration): Promise<PlantRepository> {
  return open(openRepository, url, variable, configuration);
}

/** Takes a snapshot of a store, which stays as it is. Returns undefined if the store does not exist yet. */
export function openStoreSnapshot(
  url: string,
  variable: string,
  configuration: Configuration,
): Promise<PlantSnapshot | undefined> {
  return open(openSnapshot, url, variable, configuration);
}

/** Takes a snapshot of a store that exists, which stays as it is. */
export async function openExistingSnapshot(
  url: string,
  variable: string,
  configuration: Configuration,
): Promise<PlantSnapshot> {
  const snapshot = await openStoreSnapshot(url, variable, configuration);
  if (snapshot !== undefined) return snapshot;
  const file = sqliteFile(url);
  throw new CommandError(
    file !== undefined && !existsSync(file)
      ? `there is no database ${file}: ${variable} must name one that exists`
      : `the database of ${variable} has no table of plants: no service has used it`,
  );
}

async function open<Store>(
  openUrl: (url: string, options: DatabaseOptions) => Promise<Store>,
  url: string,
  variable: string,
  { storeTimeout, databaseStartTimeout }: Configuration,
): Promise<Store> {
  if (sqliteFile(url) === ':memory:') {
    throw new CommandError(
      `${variable}: a database in memory ends with its process: name a file`,
      EXIT_STATUS.badUsage,
    );
  }
  try {
    return await openUrl(url, {
      timeout: storeTimeout,
      startTimeout: databaseStartTimeout,
    });
  } catch (error) {
    if (!(error instanceof RepositoryStartError || error instanceof RepositoryUnavailableError)) throw error;
    // Some commands use two stores.
    throw new CommandError(`${variable}: ${error.message}`, EXIT_STATUS.failed, { cause: error });
  }
}
