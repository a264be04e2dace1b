import type { PlantRepository, PlantSnapshot } from './plant-repository.js';

/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a PostgreSQL server that cannot be reached yet. */
  readonly startTimeout: number;
  /** True to create the directory of a SQLite database if it is missing. */
  readonly createsDirectory?: boolean;
  /** Called once if the start waits for a PostgreSQL server, with the reason in one line for the operator. */
  readonly onWait?: (reason: string) => void;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000 };

/** The functions of an engine for one database. They throw an OperatorError, whose message is one line for the operator. */
export interface Engine {
  /** Opens a store, creates what does not exist yet, and brings its schema up to date. */
  open(options: DatabaseOptions): Promise<PlantRepository>;

  /** Takes a snapshot of a store that exists, and changes nothing. */
  snapshot(options: DatabaseOptions): Promise<PlantSnapshot>;

  /** Refuses a database that the service could not use, and changes nothing. Returns false if a start would create it. */
  check(options: DatabaseOptions): Promise<boolean>;
}
