import type { DatabaseOptions, Engine } from '../engines.js';
import type { PlantRepository } from '../plant-repository.js';
import { retry } from '../retry.js';
import { isTransient, mayPassAtStart, postgresStartError } from './errors.js';
import { PostgresPool } from './pool.js';
import { PostgresRepository } from './repository.js';
import { tryPostgresSchema, updatePostgresSchema } from './schema.js';
import { openPostgresSnapshot } from './snapshot.js';

/** Maximum milliseconds between two attempts of the start. */
const MAX_START_PAUSE = 500;

/** PostgreSQL, and other servers that speak its protocol. */
export const postgresEngine: Engine = {
  open: openPostgresRepository,
  snapshot: openPostgresSnapshot,
  check: checkPostgresDatabase,
};

/** Opens a database, and brings its schema up to date. Waits for a server that starts later. */
async function openPostgresRepository(url: string, options: DatabaseOptions): Promise<PlantRepository> {
  const { timeout, startTimeout, onWait } = options;
  const pool = new PostgresPool(url, timeout);
  const tellOperator = (error: unknown): void => {
    // The operator need not know that another instance creates the same tables: that does not last.
    if (isTransient(error)) onWait?.(postgresStartError(url, error).message);
  };
  try {
    await retry(() => updatePostgresSchema(pool), {
      patience: startTimeout,
      isTransient: mayPassAtStart,
      pause: () => Math.random() * MAX_START_PAUSE,
      onFailure: tellOperator,
    });
  } catch (error) {
    await pool.close();
    throw postgresStartError(url, error);
  }
  return new PostgresRepository(pool, url, options);
}

/** Checks a database. It does not wait for a server that cannot be reached. */
async function checkPostgresDatabase(url: string, { timeout }: DatabaseOptions): Promise<boolean> {
  const pool = new PostgresPool(url, timeout);
  try {
    return await tryPostgresSchema(pool);
  } catch (error) {
    throw postgresStartError(url, error);
  } finally {
    await pool.close();
  }
}
