import type { PostgresUrl } from '../database-url.js';
import type { DatabaseOptions, DatabaseState, Engine } from '../engine.js';
import { startError } from '../errors.js';
import type { PlantRepository } from '../plant-repository.js';
import { retry } from '../retry.js';
import { type Driver, isTransient, PostgresPool } from './pool.js';
import { readPlants } from './read-plants.js';
import { PostgresRepository } from './repository.js';
import { readVersion, TRY_INSERT, updateSchema } from './schema.js';

/** Milliseconds between two attempts of the start. */
const START_PAUSE = 500;

/** SQLSTATE of a statement that the server has ended, because it waited for a lock. */
const CANCELED = '57014';

/** PostgreSQL, and other servers that speak its protocol. */
export function postgresEngine(driver: Driver, url: PostgresUrl): Engine {
  return {
    open: (options) => openPostgresRepository(driver, url, options),
    plants: ({ timeout }) => readPlants(driver, url, timeout),
    inspect: ({ timeout }) => inspectDatabase(driver, url, timeout),
  };
}

/** Opens a database, and brings its schema up to date. Waits for a server that starts later. */
async function openPostgresRepository(
  driver: Driver,
  url: PostgresUrl,
  { timeout, startTimeout, onWait }: DatabaseOptions,
): Promise<PlantRepository> {
  const pool = new PostgresPool(driver, url, timeout);
  let hasTold = false;
  try {
    await retry(() => updateSchema((statements) => pool.transact(statements)), {
      timeout: startTimeout,
      pause: START_PAUSE,
      isTransient: (error) => isTransient(error) || isLostRace(error) || codeOf(error) === CANCELED,
      onPause(error) {
        // The operator learns once that the start waits, and nothing of a race.
        if (hasTold || isLostRace(error)) return;
        hasTold = true;
        onWait?.(startError(url.name, error).message);
      },
    });
  } catch (error) {
    await pool.close();
    throw startError(url.name, error);
  }
  return new PostgresRepository(pool, timeout);
}

/** Inspects a database. It does not wait for a server that cannot be reached. */
async function inspectDatabase(driver: Driver, url: PostgresUrl, timeout: number): Promise<DatabaseState> {
  const pool = new PostgresPool(driver, url, timeout);
  const transact = (statements: string): Promise<unknown[][]> => pool.transact(statements);
  try {
    if ((await readVersion(transact)) === 0) return 'new';
    await transact(TRY_INSERT);
    return 'present';
  } catch (error) {
    throw startError(url.name, error);
  } finally {
    await pool.close();
  }
}

/**
 * Returns whether another instance is creating the same tables, which does not take long. The SQLSTATEs are those of a
 * unique violation, a duplicate table and a duplicate object.
 */
function isLostRace(error: unknown): boolean {
  return ['23505', '42P07', '42710'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown }).code);
}
