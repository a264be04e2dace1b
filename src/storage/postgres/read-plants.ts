import type pg from 'pg';
import type { PostgresUrl } from '../database-url.js';
import { startError } from '../errors.js';
import type { StoredPlant } from '../plant-repository.js';
import { connectionSettings, type Driver } from './pool.js';
import { readVersion } from './schema.js';

/** Milliseconds that a query may take. Where no index has the order of the ids, the server first sorts all plants. */
const QUERY_TIMEOUT = 600_000;

/**
 * Rows that one message brings: at most 64 MiB with the default BODY_LIMIT. With 256 rows, an export takes 0.7 of the
 * time.
 */
const FETCHED_ROWS = 64;

/** Limits of an operator for short transactions would end an export, in particular one whose reader is slow. */
const WITHOUT_LIMITS = `
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/**
 * Reads the plants of a database that exists, as they are at one moment, in the order of their ids. Changes nothing.
 *
 * @param timeout milliseconds that the client waits for the connection, and the server for a lock
 * @throws {OperatorError} when the database cannot be read
 */
export async function* readPlants(driver: Driver, url: PostgresUrl, timeout: number): AsyncGenerator<StoredPlant> {
  try {
    const client = new driver.Client({
      ...connectionSettings(url),
      query_timeout: QUERY_TIMEOUT,
      connectionTimeoutMillis: timeout,
    });
    // A query reports the failure of its connection itself.
    client.on('error', () => undefined);
    try {
      await begin(client, timeout);
      yield* fetchPlants(client);
    } finally {
      await client.end();
    }
  } catch (error) {
    throw startError(url.name, error);
  }
}

/** Begins a transaction, which keeps its connection to the server also behind a pooler in transaction mode. */
async function begin(client: pg.Client, timeout: number): Promise<void> {
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await client.query(`SET LOCAL lock_timeout = ${timeout}; ${WITHOUT_LIMITS}`);
  await readVersion((statement) => query(client, statement));
}

async function* fetchPlants(client: pg.Client): AsyncGenerator<StoredPlant> {
  // Ids are read as texts: see insertionOf. `ORDER BY id` would sort these texts.
  await query(client, 'DECLARE reading CURSOR FOR SELECT id::text, name, tag FROM plants ORDER BY plants.id');
  let rows: unknown[][];
  do {
    rows = await query(client, `FETCH ${FETCHED_ROWS} FROM reading`);
    for (const [id, name, tag] of rows as [string, string, string | null][]) {
      yield { id: BigInt(id), name, tag: tag ?? undefined };
    }
  } while (rows.length === FETCHED_ROWS);
}

/** Returns the rows as arrays. */
async function query(client: pg.Client, text: string): Promise<unknown[][]> {
  return (await client.query<unknown[]>({ text, rowMode: 'array' })).rows;
}
