import { errorMessage, unavailableError } from './error-messages.js';
import { type PlantSnapshot, RepositoryUnavailableError } from './plant-repository.js';
import { NO_TABLE } from './schema-state.js';

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
  if (snapshot === undefined) throw unavailableError('open', NO_TABLE, { database });
  return snapshot;
}
