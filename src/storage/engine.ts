import type { PlantRepository, StoredPlant } from './plant-repository.js';

/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a PostgreSQL server that cannot be reached yet. */
  readonly startTimeout: number;
  /** Called once if the start waits for a PostgreSQL server, with the reason in one line for the operator. */
  readonly onWait?: (reason: string) => void;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000 };

/**
 * The functions of an engine for one database. They throw an OperatorError, whose message is one line for the operator.
 */
export interface Engine {
  /** Opens a store, creates what does not exist yet, and brings its schema up to date. */
  open(options: DatabaseOptions): Promise<PlantRepository>;

  /** Reads the plants of a store that exists, as they are at one moment, in the order of their ids. Changes nothing. */
  plants(options: DatabaseOptions): AsyncGenerator<StoredPlant>;

  /** Refuses a database that a start of the service would refuse, and changes nothing. */
  inspect(options: DatabaseOptions): Promise<DatabaseState>;
}

/** A database is `present` if it has the table of plants. A start creates the table of a `new` one. */
export type DatabaseState = 'present' | 'new';
