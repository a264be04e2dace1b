import { UnusableDatabaseError } from './engine-errors.js';

/** The state of the service's tables in a database. */
export interface SchemaState {
  readonly hasPlants: boolean;
  /** Number of steps of the schema that the service has made. */
  readonly version: number;
}

/** Completes "the database … cannot be used:" in a message. */
export const NO_TABLE = 'it has no table of plants';

/**
 * @param current the version of this program's schema
 * @throws {UnusableDatabaseError} when a newer version of the program has made the schema, or its table of plants is gone
 */
export function assertUsableSchema({ hasPlants, version }: SchemaState, current: number): void {
  if (version > current) {
    throw new UnusableDatabaseError(
      'it has a schema that is newer than this version; run the version that made it, or a newer one',
    );
  }
  if (version > 0 && !hasPlants) {
    throw new UnusableDatabaseError(`${NO_TABLE} any more; restore a backup, or name another database`);
  }
}
