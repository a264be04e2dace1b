import pg from 'pg';
import type { DatabaseOptions } from './open-repository.js';
import type { PlantSnapshot } from './plant-repository.js';
import { postgresStartError } from './postgres-errors.js';
import { connectionSettings } from './postgres-pool.js';
import { findTables } from './postgres-schema.js';
import { SqlSnapshot } from './sql-snapshot.js';

/** Milliseconds that a query of a snapshot may take: to count 100 million plants takes a minute. */
const QUERY_TIMEOUT = 600_000;

/**
 * Takes a snapshot in a transaction, on a connection of its own: it takes none of those that add plants, and its queries
 * may take longer. Behind a pooler in transaction mode, it stays on one connection to the server.
 *
 * @returns undefined if there is no table of plants
 * @throws {RepositoryStartError} when the database cannot be read
 */
export async function openSnapshot(url: string, { timeout }: DatabaseOptions): Promise<PlantSnapshot | undefined> {
  let client: pg.Client | undefined;
  try {
    const opened = (client = new pg.Client(connectionSettings(url, timeout, QUERY_TIMEOUT)));
    // A query reports the failure of its connection itself.
    client.on('error', () => undefined);
    const query = async (text: string): Promise<unknown[][]> =>
      (await opened.query<unknown[]>({ text, rowMode: 'array' })).rows;
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // The transaction takes its snapshot with its first query.
    const { hasPlants } = await findTables(query);
    if (hasPlants) return new SqlSnapshot({ arrayFunction: 'json_agg', query, close: () => opened.end() });
  } catch (error) {
    await client?.end();
    throw postgresStartError(url, error);
  }
  await client.end();
  return undefined;
}
