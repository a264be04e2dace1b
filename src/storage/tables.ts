import { FIELD_NAMES } from '../contract/plant-fields.js';
import { listed } from '../listed.js';
import { UnusableDatabaseError } from './errors.js';

/** The tables of a database that the service can use. */
export interface Tables {
  readonly hasPlants: boolean;
  /** Number of steps of the schema that the service has made. */
  readonly version: number;
  /**
   * True if an operator or another program made the table of plants. On PostgreSQL, the steps do not fail on a table that is
   * there, and the first start numbers it. On SQLite they would fail, and it stays as it is.
   */
  readonly isForeign: boolean;
}

/** @throws {UnusableDatabaseError} when a newer version of the program has made the schema */
export function assertNotNewer(version: number, current: number): void {
  if (version <= current) return;
  throw new UnusableDatabaseError(
    'it has a schema that is newer than this version; run the version that made it, or a newer one',
  );
}

/**
 * Refuses a table that an operator or another program has made, if it lacks columns.
 *
 * @param columns the names of its columns
 * @param advice for an operator whose other program has made it
 * @throws {UnusableDatabaseError}
 */
export function assertColumns(columns: readonly unknown[], advice: string): void {
  const missing = FIELD_NAMES.filter((name) => !columns.includes(name));
  if (missing.length === 0) return;
  throw new UnusableDatabaseError(
    `it has a table plants without ${listed(missing, 'and')}; add what is missing, or, ${advice}`,
  );
}

/** Returns a snapshot of a running store, whose table must be there. */
export function requireTable<Snapshot>(snapshot: Snapshot | undefined): Snapshot {
  if (snapshot === undefined) throw new UnusableDatabaseError('it has no table of plants');
  return snapshot;
}
