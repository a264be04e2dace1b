import { UnusableDatabaseError } from './errors.js';

/** What a database has of the service's tables. */
export interface SchemaState {
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
