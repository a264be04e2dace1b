import { migrate } from './migrations/migrate.js';
import { type PlantRepository, RepositoryStartError } from './plant-repository.js';
import { type Engine, SqlPlantRepository } from './sql-plant-repository.js';

/** Milliseconds that a batch may wait for others to let go of the store. */
const DEFAULT_TIMEOUT = 5_000;

/**
 * Opens the store that a URL names, creates it where it does not exist yet, and brings its schema up to date.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`
 * @param timeout milliseconds that a batch may wait for others to let go of the store
 * @throws {RepositoryStartError} when it cannot be had; the message is one line for the operator
 */
export async function openRepository(url: string, timeout = DEFAULT_TIMEOUT): Promise<PlantRepository> {
  const file = sqliteFile(url);
  if (file === undefined) throw new RepositoryStartError('a database URL must be of the form sqlite:data/plants.db');
  const { openSqlite, sqliteStartError } = await withDriver('better-sqlite3', import('./sqlite-engine.js'));
  let engine: Engine | undefined;
  try {
    engine = openSqlite(file);
    await migrate(engine.database);
    // A damaged table is better found now than by a client.
    await engine.database
      .selectFrom('plants')
      .select(({ fn }) => [fn.min('id').as('least'), fn.max('id').as('greatest')])
      .execute();
    engine.started();
    return new SqlPlantRepository(engine, timeout);
  } catch (error) {
    await engine?.database.destroy();
    throw sqliteStartError(file, error);
  }
}

/** The module of an engine. It imports the driver, which a host has installed only where it uses it. */
async function withDriver<Module>(driver: string, module: Promise<Module>): Promise<Module> {
  try {
    return await module;
  } catch (error) {
    if (!(error instanceof Error && error.message.includes(`'${driver}'`))) throw error;
    throw new RepositoryStartError(`the package ${driver} is not installed: npm install ${driver}`, { cause: error });
  }
}

/** The path in a SQLite URL, `:memory:` included, or undefined where the URL is another engine's. */
export function sqliteFile(url: string): string | undefined {
  return /^sqlite:(\S.*)$/.exec(url)?.[1];
}
