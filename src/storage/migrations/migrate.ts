import { type Kysely, type Migration, Migrator } from 'kysely';
import { RepositoryStartError } from '../plant-repository.js';
import * as createPlants from './0001-create-plants.js';

/** Every step from an empty database to today's schema, in order. What has landed here never changes. */
const MIGRATIONS: Record<string, Migration> = {
  '0001-create-plants': createPlants,
};

/**
 * Brings the schema up to date.
 *
 * @throws {RepositoryStartError} when the database was made by a newer version of the program
 */
export async function migrate<Schema>(database: Kysely<Schema>): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve(MIGRATIONS) },
  });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  if (error instanceof Error && error.message.startsWith('corrupted migrations')) {
    throw new RepositoryStartError(
      'has a schema that this version does not know; run the version that made it, or a newer one',
      { cause: error },
    );
  }
  throw error as Error;
}
