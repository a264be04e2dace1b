import pg from 'pg';
import type { DatabaseOptions } from './database-options.js';
import type { PlantSnapshot, StoredPlant } from './plant-repository.js';
import { connectionSettings } from './postgres-connection.js';
import { COLUMN_NAMES, plantOf, plantsOf } from './plant-columns.js';
import { MAX_ID, MIN_ID, PAGE_LENGTH, PAGE_PLANTS, unreadable } from './snapshot-page.js';

/** Milliseconds that a query of a snapshot may take: to count 100 million plants takes a minute. */
const QUERY_TIMEOUT = 600_000;

const PLANTS = `SELECT ${COLUMN_NAMES.join()} FROM plants WHERE id >= $1 ORDER BY id LIMIT ${PAGE_PLANTS}`;
const LENGTH = COLUMN_NAMES.map((name) => `coalesce(octet_length(${name}::text), 0)`).join(' + ');

/** The columns for `plantsOf`, which are null without plants. */
const COLUMNS = `SELECT ${COLUMN_NAMES.map((name) => `json_agg(${name})::text`).join()} FROM`;

/** The next plants, unless their texts are too long for one page. */
const SHORT_PAGE = `
  ${COLUMNS} (${PLANTS}) AS page
  WHERE (SELECT sum(${LENGTH}) FROM (${PLANTS}) AS plants) <= ${PAGE_LENGTH}`;

/** As many of the next plants as fit into a page: the longest plants would not fit into memory. It takes twice as long. */
const LONG_PAGE = `
  ${COLUMNS} (
    SELECT *
    FROM (SELECT *, sum(${LENGTH}) OVER (ORDER BY id) - (${LENGTH}) AS before FROM (${PLANTS}) AS plants) AS plants
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
  /** The last query. It may still run, because a page is fetched while its predecessor is used. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly client: pg.Client) {}

  async count(): Promise<number> {
    const [row] = await this.#query<[string]>('SELECT count(*) FROM plants');
    return Number(row?.[0]);
  }

  async find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    const rows = await this.#query<[id: string, ...rest: unknown[]]>(
      `SELECT ${COLUMN_NAMES.join()} FROM plants WHERE id = ANY ($1::bigint[])`,
      [ids],
    );
    return rows.map(([id, ...rest]) => plantOf([BigInt(id), ...rest]));
  }

  async *pages(after?: bigint): AsyncIterable<readonly StoredPlant[]> {
    if (after === MAX_ID) return;
    let next = this.#page(after === undefined ? MIN_ID : after + 1n);
    for (;;) {
      const page = await next;
      const last = page.at(-1);
      if (last === undefined) return;
      const isLast = last.id === MAX_ID;
      if (!isLast) {
        next = this.#page(last.id + 1n);
        // If the reader stops at this page, a failure of the next one does not matter.
        next.catch(() => undefined);
      }
      yield page;
      if (isLast) return;
    }
  }

  async close(): Promise<void> {
    await this.#last;
    await this.client.end();
  }

  async #page(from: bigint): Promise<readonly StoredPlant[]> {
    const plants = await this.#fetch(SHORT_PAGE, from);
    return plants.length > 0 ? plants : this.#fetch(LONG_PAGE, from);
  }

  async #fetch(query: string, from: bigint): Promise<readonly StoredPlant[]> {
    return (await this.#query<readonly (string | null)[]>(query, [from])).flatMap(plantsOf);
  }

  /** Runs a query after the last one. */
  #query<Row extends readonly unknown[]>(text: string, values: unknown[] = []): Promise<Row[]> {
    const result = this.#last.then(async () => {
      const config = { text, values, rowMode: 'array' as const };
      try {
        return (await this.client.query<Row>(config)).rows;
      } catch (error) {
        throw unreadable(error);
      }
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
