import { OperatorError } from '../operator-error.js';
import { type DatabaseUrl, type PostgresUrl, readDatabaseUrl } from './database-url.js';
import { DATABASE_DEFAULTS, type DatabaseOptions, type Engine } from './engine.js';
import type { PlantRepository } from './plant-repository.js';

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
