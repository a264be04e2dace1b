import { FIELD_NAMES } from '../contract/plant-fields.js';
import { listed } from '../listed.js';
import { UnusableDatabaseError } from './errors.js';

/** The tables of a database that the service can use. */
export interface Tables {
  readonly hasPlants: boolean;
  /** Number of steps of the schema that the service has made. */
  readonly version: number;
  /**
   * True if an operator or another program made the table of plants. PostgreSQL numbers it at the first start, and SQLite
   * leaves it as it is.
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
