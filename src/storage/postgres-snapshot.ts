import pg from 'pg';
import type { DatabaseOptions } from './engines.js';
import { unreadable } from './errors.js';
import type { PlantSnapshot } from './plant-repository.js';
import { connectionSettings } from './postgres-connection.js';
import { SqlSnapshot } from './sql-snapshot.js';

/** Milliseconds that a query of a snapshot may take: to count 100 million plants takes a minute. */
const QUERY_TIMEOUT = 600_000;

/**
 * Takes a snapshot in a transaction, on a connection of its own: it takes none of those that add plants, and its queries
 * may take longer. Behind a pooler in transaction mode, it stays on one connection to the server.
 *
 * @throws {RepositoryUnavailableError} when the database cannot be read
 */
export async function openPostgresSnapshot(url: string, { timeout }: DatabaseOptions): Promise<PlantSnapshot> {
  const client = new pg.Client({
    ...connectionSettings(url),
    keepAlive: true,
    connectionTimeoutMillis: timeout,
    query_timeout: QUERY_TIMEOUT,
  });
  // A query reports the failure of its connection itself.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // The transaction takes its snapshot with its first query.
    await client.query('SELECT FROM plants LIMIT 1');
  } catch (error) {
    await client.end();
    throw unreadable(error);
  }
  return new SqlSnapshot({
    arrayFunction: 'json_agg',
    query: async (text) => (await client.query<unknown[]>({ text, rowMode: 'array' })).rows[0] ?? [],
    close: () => client.end(),
  });
}
