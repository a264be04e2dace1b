import pg from 'pg';
import type { DatabaseOptions } from './database-options.js';
import type { PlantSnapshot, StoredPlant } from './plant-repository.js';
import { connectionSettings } from './postgres-connection.js';
import { COLUMN_NAMES, plantOf, plantsOf } from './plant-columns.js';
import { MAX_ID, MIN_ID, PAGE_LENGTH, PAGE_PLANTS, unreadable } from './snapshot-page.js';

/** Milliseconds that a query of a snapshot may take: to count 100 million plants takes a minute. */
const QUERY_TIMEOUT = 600_000;

const COLUMNS = COLUMN_NAMES.join();
const LENGTH = COLUMN_NAMES.map((name) => `coalesce(octet_length(${name}::text), 0)`).join(' + ');

/** As many of the next plants as fit into a page, as arrays for `plantsOf`: the longest plants would not fit into memory. */
const PAGE = `
  SELECT ${COLUMN_NAMES.map((name) => `json_agg(${name})::text`).join()}
  FROM (
    SELECT ${COLUMNS}
    FROM (
      SELECT ${COLUMNS}, sum(${LENGTH}) OVER (ORDER BY id) - (${LENGTH}) AS before
      FROM (SELECT ${COLUMNS} FROM plants WHERE id >= $1 ORDER BY id LIMIT ${PAGE_PLANTS}) AS plants
    ) AS plants
    WHERE before < ${PAGE_LENGTH} ORDER BY id
  ) AS page`;

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
    return new PostgresSnapshot(client);
  } catch (error) {
    await client.end();
    throw unreadable(error);
  }
}

class PostgresSnapshot implements PlantSnapshot {
  constructor(private readonly client: pg.Client) {}

  async count(): Promise<number> {
    const [row] = await this.#query<[bigint]>('SELECT count(*) FROM plants');
    return Number(row?.[0]);
  }

  async find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return (await this.#query(`SELECT ${COLUMNS} FROM plants WHERE id = ANY ($1::bigint[])`, [ids])).map(plantOf);
  }

  async *pages(after: bigint = MIN_ID - 1n): AsyncIterable<readonly StoredPlant[]> {
    let last: bigint | undefined = after;
    while (last !== undefined && last < MAX_ID) {
      const page: readonly StoredPlant[] = (await this.#query<(string | null)[]>(PAGE, [last + 1n])).flatMap(plantsOf);
      if (page.length > 0) yield page;
      last = page.at(-1)?.id;
    }
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  async #query<Row extends unknown[]>(text: string, values: unknown[] = []): Promise<Row[]> {
    try {
      return (await this.client.query<Row>({ text, values, rowMode: 'array' })).rows;
    } catch (error) {
      throw unreadable(error);
    }
  }
}
