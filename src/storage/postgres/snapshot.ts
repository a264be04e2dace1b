import pg from 'pg';
import type { PostgresUrl } from '../database-url.js';
import type { DatabaseOptions } from '../engines.js';
import { unavailableError } from '../error-messages.js';
import { COLUMNS, plantOf } from '../plant-rows.js';
import type { PlantSnapshot, StoredPlant } from '../plant-repository.js';
import { connectionSettings } from './connection-settings.js';
import { describePostgresError, postgresStartError } from './errors.js';
import { literal } from './literal.js';
import { readSchemaState } from './schema.js';

/** Milliseconds that a query may take: to count 100 million plants takes a minute. */
const QUERY_TIMEOUT = 600_000;

/**
 * Rows that one message brings. With 64 rows, an export of 100,000 short plants takes 1.4 times as long, and with 8 rows,
 * 2.8 times. Even 8 plants of the longest BODY_LIMIT (255mb) are 2 GB, so long plants are read one by one.
 */
const FETCHED_ROWS = 256;

/**
 * Is true if the texts of a plant are short, so that those of a message have at most 4 MiB. The casts are for columns of
 * other types that an operator has made.
 */
const IS_SHORT = 'coalesce(octet_length(name::text), 0) + coalesce(octet_length(tag::text), 0) < 16384';

/** Selects IS_SHORT, and the columns of a plant. The texts of a long plant are read later. */
const ROW = `${IS_SHORT}, id, CASE WHEN ${IS_SHORT} THEN name END, CASE WHEN ${IS_SHORT} THEN tag END`;

/** Only PostgreSQL 17 and later has this limit, and other servers refuse to set it. */
const NO_TRANSACTION_TIMEOUT =
  "SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('transaction_timeout', true) IS NOT NULL";

/**
 * Takes a snapshot in a transaction, on a connection of its own, because batches must not wait for its queries. Behind a
 * pooler in transaction mode, the transaction keeps one connection to the server.
 *
 * @param options.timeout milliseconds that the client waits for the connection, and the server for a lock
 * @returns undefined if there is no table of plants
 * @throws {OperatorError} when the database cannot be read
 */
export async function openPostgresSnapshot(
  url: PostgresUrl,
  { timeout }: DatabaseOptions,
): Promise<PlantSnapshot | undefined> {
  const client = new pg.Client(connectionSettings(url.href, timeout, QUERY_TIMEOUT));
  // A query reports the failure of its connection itself.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(
      `SET LOCAL lock_timeout = ${timeout}; ` +
        // An operator's limits for short transactions would end an export, in particular one whose reader is slow.
        `SET LOCAL statement_timeout = ${QUERY_TIMEOUT}; SET LOCAL idle_in_transaction_session_timeout = 0; ` +
        NO_TRANSACTION_TIMEOUT,
    );
    const { hasPlants } = await readSchemaState((statement) => query(client, statement));
    if (hasPlants) return new PostgresSnapshot(client, url.name);
  } catch (error) {
    await client.end();
    throw postgresStartError(url.name, error);
  }
  await client.end();
  return undefined;
}

class PostgresSnapshot implements PlantSnapshot {
  constructor(
    private readonly client: pg.Client,
    private readonly database: string,
  ) {}

  async count(): Promise<number> {
    const [row] = await this.#query('SELECT count(*) FROM plants');
    return Number(row?.[0]);
  }

  async find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    const rows = await this.#query(
      `SELECT ${COLUMNS} FROM plants WHERE id = ANY (ARRAY[${ids.map(literal).join()}]::bigint[])`,
    );
    return rows.map(plantOf);
  }

  async *plants(after?: bigint): AsyncIterable<StoredPlant> {
    const condition = after === undefined ? '' : `WHERE id > ${literal(after)}`;
    await this.#query(`DECLARE reading CURSOR FOR SELECT ${ROW} FROM plants ${condition} ORDER BY id`);
    try {
      let rows: unknown[][];
      do {
        rows = await this.#query(`FETCH ${FETCHED_ROWS} FROM reading`);
        for (const [isShort, ...row] of rows) {
          const plant = plantOf(row);
          if (isShort === true) yield plant;
          else yield* await this.find([plant.id]);
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

  async #query(statement: string): Promise<unknown[][]> {
    try {
      return await query(this.client, statement);
    } catch (error) {
      throw unavailableError('read', describePostgresError(error), { database: this.database, cause: error });
    }
  }
}

/** Returns the rows as arrays. */
async function query(client: pg.Client, text: string): Promise<unknown[][]> {
  return (await client.query<unknown[]>({ text, rowMode: 'array' })).rows;
}
