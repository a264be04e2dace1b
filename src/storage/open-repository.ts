import { DATABASE_DEFAULTS, type DatabaseOptions, engineOf } from './engines.js';
import type { PlantRepository, PlantSnapshot } from './plant-repository.js';

/**
 * Opens the store that a URL names, creates what does not exist yet, and brings its schema up to date.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`; or `postgres://…`, where the
 *   database must exist
 * @throws {RepositoryStartError} when it cannot be opened; the message is one line for the operator
 */
export async function openRepository(url: string, options: Partial<DatabaseOptions> = {}): Promise<PlantRepository> {
  return engineOf(url).open(url, { ...DATABASE_DEFAULTS, ...options });
}

/** Takes a snapshot as `Engine.openSnapshot` does; undefined if the store does not exist, too. */
export async function openSnapshot(url: string, options: DatabaseOptions): Promise<PlantSnapshot | undefined> {
  return engineOf(url).openSnapshot(url, options);
}

/** Checks a store as `Engine.check` does; false if a start creates the table of plants. */
export async function checkStore(url: string, options: DatabaseOptions): Promise<boolean> {
  return engineOf(url).check(url, options);
}
