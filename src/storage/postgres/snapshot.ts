import type pg from 'pg';
import type { PostgresUrl } from '../database-url.js';
import { startError, unavailableError } from '../errors.js';
import type { PlantSnapshot, StoredPlant } from '../plant-repository.js';
import { connectionSettings, type Driver } from './pool.js';
import { readVersion } from './schema.js';

/** Milliseconds that a query may take: to count 100 million plants takes a minute. */
const QUERY_TIMEOUT = 600_000;

/** Rows that one message brings: at most 64 MiB with the default BODY_LIMIT. With 256 rows, an export takes 0.7 of the time. */
const FETCHED_ROWS = 64;

/** Limits of an operator for short transactions would end an export, in particular one whose reader is slow. */
const WITHOUT_LIMITS = `
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/**
 * Takes a snapshot in a transaction, on a connection of its own, because batches must not wait for its queries. Behind a
 * pooler in transaction mode, the transaction keeps one connection to the server.
 *
 * @param timeout milliseconds that the client waits for the connection, and the server for a lock
 * @throws {OperatorError} when the database cannot be read
 */
export async function openSnapshot(driver: Driver, url: PostgresUrl, timeout: number): Promise<PlantSnapshot> {
  try {
    const client = new driver.Client({
      ...connectionSettings(url),
      query_timeout: QUERY_TIMEOUT,
      connectionTimeoutMillis: timeout,
    });
    // A query reports the failure of its connection itself.
    client.on('error', () => undefined);
    await begin(client, timeout);
    return new PostgresSnapshot(client);
  } catch (error) {
    throw startError(url.name, error);
  }
}

/** Connects, and begins the transaction. */
async function begin(client: pg.Client, timeout: number): Promise<void> {
  try {
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(`SET LOCAL lock_timeout = ${timeout}; ${WITHOUT_LIMITS}`);
    await readVersion((statement) => query(client, statement));
    await query(client, 'SELECT FROM plants LIMIT 0');
  } catch (error) {
    await client.end();
    throw error;
  }
}

class PostgresSnapshot implements PlantSnapshot {
  constructor(private readonly client: pg.Client) {}

  async count(): Promise<number> {
    const [[count] = []] = await this.#query('SELECT count(*) FROM plants');
    return Number(count);
  }

  async *plants(): AsyncIterable<StoredPlant> {
    // Ids are read as texts: see insertionOf. `ORDER BY id` would sort these texts.
    await this.#query('DECLARE reading CURSOR FOR SELECT id::text, name, tag FROM plants ORDER BY plants.id');
    try {
      let rows: unknown[][];
      do {
        rows = await this.#query(`FETCH ${FETCHED_ROWS} FROM reading`);
        for (const [id, name, tag] of rows as [string, string, string | null][]) {
          yield { id: BigInt(id), name, tag: tag ?? undefined };
        }
      } while (rows.length === FETCHED_ROWS);
    } finally {
      // The statement fails if a query of the transaction has failed.
      await this.#query('CLOSE reading').catch(() => undefined);
    }
  }

  close(): Promise<void> {
    return this.client.end();
  }

  async #query(text: string): Promise<unknown[][]> {
    try {
      return await query(this.client, text);
    } catch (error) {
      throw unavailableError(error);
    }
  }
}

/** Returns the rows as arrays. */
async function query(client: pg.Client, text: string): Promise<unknown[][]> {
  return (await client.query<unknown[]>({ text, rowMode: 'array' })).rows;
}
