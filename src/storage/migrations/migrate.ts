import { type Kysely, type Migration, Migrator } from 'kysely';
import { RepositoryStartError } from '../plant-repository.js';
import * as createPlants from './0001-create-plants.js';
import * as createPlantsPostgres from './0001-create-plants.postgres.js';

/**
 * Every step from an empty database to today's schema, in order. What has landed here never changes. Nothing locks
 * PostgreSQL's, see `PostgresAdapter`: they may run twice, and at the same time.
 */
const MIGRATIONS = {
  sqlite: { '0001-create-plants': createPlants },
  postgres: { '0001-create-plants': createPlantsPostgres },
} satisfies Record<string, Record<string, Migration>>;

/**
 * Brings the schema up to date.
 *
 * @throws {RepositoryStartError} when the database was made by a newer version of the program
 */
export async function migrate<Schema>(database: Kysely<Schema>, engine: keyof typeof MIGRATIONS): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve(MIGRATIONS[engine]) },
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
