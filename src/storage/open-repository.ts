import { migrate } from './migrations/migrate.js';
import { type PlantRepository, RepositoryStartError } from './plant-repository.js';
import { SqlPlantRepository } from './sql-plant-repository.js';
import { openSqlite, sqliteStartError } from './sqlite-engine.js';

/**
 * Opens the store that a URL names, creates it where it does not exist yet, and brings its schema up to date.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`
 * @throws {RepositoryStartError} when it cannot be had; the message is one line for the operator
 */
export async function openRepository(url: string): Promise<PlantRepository> {
  const file = sqliteFile(url);
  if (file === undefined) throw new RepositoryStartError('a database URL must be of the form sqlite:data/plants.db');
  try {
    const engine = openSqlite(file);
    await migrate(engine.database);
    return new SqlPlantRepository(engine);
  } catch (error) {
    throw sqliteStartError(file, error);
  }
}

/** The path in a SQLite URL, `:memory:` included, or undefined where the URL is another engine's. */
export function sqliteFile(url: string): string | undefined {
  return /^sqlite:(.+)$/.exec(url)?.[1];
}
