import { DATABASE_DEFAULTS, type DatabaseOptions, isPostgresUrl, SSL_MODES, sqliteFile } from './database-options.js';
import { type PlantRepository, type PlantSnapshot, RepositoryStartError } from './plant-repository.js';

/**
 * Opens the store that a URL names, creates what does not exist yet, and brings its schema up to date.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`; or `postgres://…`, where the
 *   database must exist
 * @throws {RepositoryStartError} when it cannot be opened; the message is one line for the operator
 */
export async function openRepository(url: string, options: Partial<DatabaseOptions> = {}): Promise<PlantRepository> {
  const complete = { ...DATABASE_DEFAULTS, ...options };
  const file = sqliteFile(url);
  if (file !== undefined) {
    const { openSqliteRepository } = await import('./sqlite-repository.js');
    return openSqliteRepository(file, complete);
  }
  if (!isPostgresUrl(url)) {
    throw new RepositoryStartError(
      'a database URL must be of the form sqlite:data/plants.db or postgres://user:password@host:5432/plants, ' +
        `where user and password are percent-encoded and sslmode is one of ${SSL_MODES.join(', ')}`,
    );
  }
  const { openPostgresRepository } = await import('./postgres-repository.js').catch(refuseMissingPackage);
  return openPostgresRepository(url, complete);
}

/**
 * Takes a snapshot of the store that a URL names, and changes nothing in it.
 *
 * @param url as for `openRepository`
 * @returns undefined if the store does not exist, or has no table of plants yet
 * @throws {RepositoryStartError} when it cannot be opened; the message is one line for the operator
 * @throws {RepositoryUnavailableError} when it cannot be read
 */
export async function openSnapshot(url: string, options: DatabaseOptions): Promise<PlantSnapshot | undefined> {
  const file = sqliteFile(url);
  if (file !== undefined) {
    const { openSqliteFileSnapshot } = await import('./sqlite-snapshot.js');
    return openSqliteFileSnapshot(file);
  }
  const { hasPostgresPlants } = await import('./postgres-repository.js');
  if (!(await hasPostgresPlants(url, options))) return undefined;
  const { openPostgresSnapshot } = await import('./postgres-snapshot.js');
  return openPostgresSnapshot(url, options);
}

/** A host installs the package `pg` only if it uses PostgreSQL. */
function refuseMissingPackage(error: unknown): never {
  if (!(error instanceof Error && error.message.includes("'pg'"))) throw error;
  throw new RepositoryStartError('the package pg is not installed: npm install pg', { cause: error });
}
