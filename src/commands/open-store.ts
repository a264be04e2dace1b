import type { Configuration } from '../config/configuration.js';
import { badUsage } from '../operator-error.js';
import type { DatabaseUrl } from '../storage/database-url.js';
import { engineOf, openRepository } from '../storage/engines.js';
import type { PlantRepository, StoredPlant } from '../storage/plant-repository.js';

export async function openOrCreateStore({ databaseUrl, store }: Configuration): Promise<PlantRepository> {
  assertNotInMemory(databaseUrl);
  return openRepository(databaseUrl, {
    ...store,
    onWait: (reason) => process.stderr.write(`Waiting for the database: ${reason}\n`),
  });
}

/** Reads the plants of a store that exists, which stays as it is: see `Engine.plants`. */
export async function* readStore({ databaseUrl, store }: Configuration): AsyncGenerator<StoredPlant> {
  assertNotInMemory(databaseUrl);
  yield* (await engineOf(databaseUrl)).plants(store);
}

/**
 * Returns the file of a SQLite database.
 *
 * @param advice for an operator whose database is not SQLite
 */
export function requireSqliteFile(url: DatabaseUrl, advice: string): string {
  assertNotInMemory(url);
  if (url.engine !== 'sqlite' || url.file === undefined) throw badUsage(advice);
  return url.file;
}

function assertNotInMemory(url: DatabaseUrl): void {
  if (url.engine === 'sqlite' && url.file === undefined) {
    throw badUsage('a database in memory ends with its process: name a file');
  }
}
