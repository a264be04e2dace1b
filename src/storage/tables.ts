import { UnusableDatabaseError } from './errors.js';

/** The tables of a database that the service can use. */
export interface Tables {
  readonly hasPlants: boolean;
  /** Number of steps of the schema that the service has made. */
  readonly version: number;
}

/** @throws {UnusableDatabaseError} when a newer version of the program has made the schema */
export function assertNotNewer(version: number, current: number): void {
  if (version <= current) return;
  throw new UnusableDatabaseError(
    'it has a schema that is newer than this version; run the version that made it, or a newer one',
  );
}

/** Returns a snapshot of a running store, whose table must be there. */
export function requireTable<Snapshot>(snapshot: Snapshot | undefined): Snapshot {
  if (snapshot === undefined) throw new UnusableDatabaseError('it has no table of plants');
  return snapshot;
}
