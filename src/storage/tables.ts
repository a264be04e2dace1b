import { errorMessage, RepositoryUnavailableError, unavailable, UnusableDatabaseError } from './errors.js';
import type { PlantSnapshot } from './plant-repository.js';

/** The tables of a database that the service can use. */
export interface Tables {
  readonly hasPlants: boolean;
  /** Number of steps of the schema that the service has made. */
  readonly version: number;
}

/** Completes "the database … cannot be used:" in a message. */
export const NO_TABLE = 'it has no table of plants';

/** @throws {UnusableDatabaseError} when a newer version of the program has made the schema */
export function assertNotNewer(version: number, current: number): void {
  if (version <= current) return;
  throw new UnusableDatabaseError(
    'it has a schema that is newer than this version; run the version that made it, or a newer one',
  );
}

/**
 * Returns the snapshot that a running store takes, whose table must be there.
 *
 * @param taken see `Engine.snapshot`
 * @param database as the operator names it, without a password
 * @throws {RepositoryUnavailableError} when there is no snapshot
 */
export async function requireSnapshot(
  taken: Promise<PlantSnapshot | undefined>,
  database: string,
): Promise<PlantSnapshot> {
  const snapshot = await taken.catch((error: unknown) => {
    // The message names the database already.
    throw new RepositoryUnavailableError(errorMessage(error), { cause: error });
  });
  if (snapshot === undefined) throw unavailable('open', undefined, NO_TABLE, database);
  return snapshot;
}
