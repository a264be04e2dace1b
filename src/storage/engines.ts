import { OperatorError } from '../operator-error.js';
import {
  DATABASE_URL_RULE,
  type DatabaseUrl,
  parseDatabaseUrl,
  type PostgresUrl,
  SSL_MODE_RULE,
} from './database-url.js';
import type { PlantRepository, PlantSnapshot } from './plant-repository.js';

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

/** The functions of an engine for one database. They throw an OperatorError, whose message is one line for the operator. */
export interface Engine {
  /** Opens a store, creates what does not exist yet, and brings its schema up to date. */
  open(options: DatabaseOptions): Promise<PlantRepository>;

  /** Takes a snapshot of a store that exists, and changes nothing. */
  snapshot(options: DatabaseOptions): Promise<PlantSnapshot>;

  /** Refuses a database that the service could not use, and changes nothing. Returns false if a start would create it. */
  check(options: DatabaseOptions): Promise<boolean>;
}

/**
 * Opens the store that a URL names: see `Engine.open`.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`; or `postgres://…`, where the
 *   database must exist
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
  const parsed = typeof url === 'string' ? parseDatabaseUrl(url) : url;
  if (parsed === undefined) throw new OperatorError(`a database URL must be ${DATABASE_URL_RULE}`);
  if (parsed.engine === 'sqlite') return (await import('./sqlite/engine.js')).sqliteEngine(parsed);
  if (parsed.lacksSslMode) throw new OperatorError(`a database URL must have ${SSL_MODE_RULE}`);
  return loadPostgres(parsed);
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
