import { OperatorError } from '../operator-error.js';
import { readRegularFile } from '../files/regular-file.js';
import { DATABASE_URL_RULE, type DatabaseUrl, parseDatabaseUrl, SSL_MODE_RULE } from './database-url.js';
import type { PlantRepository, PlantSnapshot } from './plant-repository.js';

/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a server that cannot be reached yet. SQLite does not use it. */
  readonly startTimeout: number;
  /** True to create the directory of a SQLite database if it is missing. */
  readonly createsDirectory?: boolean;
  /** Called if the start waits, with the reason in one line for the operator. `openRepository` calls it only once. */
  readonly onWait?: (reason: string) => void;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000 };

/** The functions of an engine for one database. They throw an OperatorError, whose message is one line for the operator. */
export interface Engine {
  /** Opens a store, creates what does not exist yet, and brings its schema up to date. */
  open(options: DatabaseOptions): Promise<PlantRepository>;

  /** Takes a snapshot, and changes nothing; undefined if there is no store, or no table of plants in it. */
  snapshot(options: DatabaseOptions): Promise<PlantSnapshot | undefined>;

  /** Refuses a database that a start would refuse, and changes nothing. Returns whether there is a table of plants. */
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
  let isTold = false;
  const onWait = (reason: string): void => {
    if (!isTold) options.onWait?.(reason);
    isTold = true;
  };
  return (await engineOf(url)).open({ ...DATABASE_DEFAULTS, ...options, onWait });
}

/**
 * Loads the engine of a URL and its driver on demand, because a host without PostgreSQL does not install `pg`.
 *
 * @throws {OperatorError} if the URL, a file that it names, or the driver cannot be used
 */
export async function engineOf(url: DatabaseUrl | string): Promise<Engine> {
  const parsed = typeof url === 'string' ? parseDatabaseUrl(url) : url;
  if (parsed === undefined) throw new OperatorError(`a database URL must be ${DATABASE_URL_RULE}`);
  if (parsed.engine === 'sqlite') return (await import('./sqlite/engine.js')).sqliteEngine(parsed);
  if (parsed.lacksSslMode) throw new OperatorError(`a database URL must have ${SSL_MODE_RULE}`);
  checkTlsFiles(parsed.href);
  try {
    return (await import('./postgres/engine.js')).postgresEngine(parsed);
  } catch (error) {
    const { code, message } = Object(error) as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes("'pg'")) throw error;
    throw new OperatorError('the package pg is not installed: npm install pg', { cause: error });
  }
}

/** Checks the files that a PostgreSQL URL names before the driver reads them. Other users must not have the key. */
function checkTlsFiles(url: string): void {
  const { searchParams } = new URL(url);
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = searchParams.get(name);
    if (file !== null) readRegularFile(file, name === 'sslkey' ? 'secret' : 'public');
  }
}
