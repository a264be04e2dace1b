import type { PostgresUrl } from '../database-url.js';
import type { DatabaseOptions, Engine } from '../engines.js';
import type { PlantRepository } from '../plant-repository.js';
import { retry } from '../retry.js';
import { isTransient, mayPassAtStart, postgresStartError } from './errors.js';
import { PostgresPool } from './pool.js';
import { PostgresRepository } from './repository.js';
import { rehearsePostgresSchema, updatePostgresSchema } from './schema.js';
import { openPostgresSnapshot } from './snapshot.js';

/** Maximum milliseconds between two attempts of the start. */
const MAX_START_PAUSE = 500;

/** PostgreSQL, and other servers that speak its protocol. */
export function postgresEngine(url: PostgresUrl): Engine {
  return {
    open: (options) => openPostgresRepository(url, options),
    snapshot: (options) => openPostgresSnapshot(url, options),
    check: (options) => checkPostgresDatabase(url, options),
  };
}

/** Opens a database, and brings its schema up to date. Waits for a server that starts later. */
async function openPostgresRepository(url: PostgresUrl, options: DatabaseOptions): Promise<PlantRepository> {
  const { timeout, startTimeout, onWait } = options;
  const pool = new PostgresPool(url.href, timeout);
  const tellOperator = (error: unknown): void => {
    // The operator need not know that another instance creates the same tables: that does not last.
    if (isTransient(error)) onWait?.(postgresStartError(url.name, error).message);
  };
  try {
    await retry(() => updatePostgresSchema(pool), {
      retryFor: startTimeout,
      isTransient: mayPassAtStart,
      pause: () => Math.random() * MAX_START_PAUSE,
      onFailure: tellOperator,
    });
  } catch (error) {
    await pool.close();
    throw postgresStartError(url.name, error);
  }
  return new PostgresRepository(pool, url, options);
}

/** Checks a database. It does not wait for a server that cannot be reached. */
async function checkPostgresDatabase(url: PostgresUrl, { timeout }: DatabaseOptions): Promise<boolean> {
  const pool = new PostgresPool(url.href, timeout);
  try {
    return await rehearsePostgresSchema(pool);
  } catch (error) {
    throw postgresStartError(url.name, error);
  } finally {
    await pool.close();
  }
}
