import { OperatorError } from '../operator-error.js';
import { type DatabaseUrl, type PostgresUrl, readDatabaseUrl } from './database-url.js';
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

/** Whether the database has the table of plants; a start creates the table of a new one. */
export type DatabaseState = 'present' | 'new';

/**
 * Opens the store that a URL names: see `Engine.open`.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`; or `postgres://…`, where
 *   the database must exist
 */
export async function openRepository(
  url: DatabaseUrl | string,
  options: Partial<DatabaseOptions> = {},
): Promise<PlantRepository> {
  return (await engineOf(url)).open({ ...DATABASE_DEFAULTS, ...options });
}

/**
 * Loads the engine of a URL and its driver on demand.
 *
 * @throws {OperatorError} if the URL or the driver cannot be used
 */
export async function engineOf(url: DatabaseUrl | string): Promise<Engine> {
  const parsed = typeof url === 'string' ? readUrlOfHost(url) : url;
  return parsed.engine === 'sqlite' ? (await import('./sqlite/engine.js')).sqliteEngine(parsed) : loadPostgres(parsed);
}

function readUrlOfHost(text: string): DatabaseUrl {
  try {
    return readDatabaseUrl(text);
  } catch (cause) {
    throw new OperatorError(`a database URL ${(cause as Error).message}`, { cause });
  }
}

async function loadPostgres(url: PostgresUrl): Promise<Engine> {
  const { postgresEngine } = await import('./postgres/engine.js');
  try {
    // A host without PostgreSQL does not install it. In a `try`, bundlers let it be missing.
    const { default: driver } = await import('pg');
    return postgresEngine(driver, url);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new OperatorError('the package pg is not installed: npm install pg', { cause: error });
  }
}
