import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { DatabaseOptions } from './open-repository.js';
import { unavailable } from './errors.js';
import { byteLengthIn, byteLengthOf, COLUMN_NAMES, FITTING_COLUMNS, isSamePlant, plantOf } from './plant-columns.js';
import { type Outcome, PlantRepository, type PlantSnapshot, type StoredPlant } from './plant-repository.js';
import { describePostgresError, mayPassAtStart, postgresFailure, postgresStartError } from './postgres-errors.js';
import { connectionSettings, PostgresPool } from './postgres-pool.js';
import { findTables, insertionOf, rehearsePostgresSchema, tryOut, updatePostgresSchema } from './postgres-schema.js';
import { Retry } from './retry.js';
import { requireSnapshot, SqlSnapshot } from './sql-snapshot.js';

/** Maximum milliseconds between two attempts of the start. */
const START_INTERVAL = 500;

/** Maximum milliseconds between two attempts. The pause is random, so that two processes do not retry in lockstep. */
const RETRY_INTERVAL = 20;

/** Maximum milliseconds of a check: health probes do not wait for long. */
const CHECK_TIMEOUT = 1_000;

/** Milliseconds that a query of a snapshot may take: to count 100 million plants takes a minute. */
const QUERY_TIMEOUT = 600_000;

/** The bytes of a plant's texts. CAST reads none of them, and a table that an operator has made may have other types. */
const BYTE_LENGTH = byteLengthIn((column) => `CAST(${column} AS text)`);

/**
 * Makes the transaction wait for the disk if the server, the database or the role has turned that off. It travels with
 * the INSERT, because behind a pooler the next transaction may run on another connection. Engines without the setting
 * read it as null. A transaction that stored nothing needs no sync, and makes none.
 */
const COMMIT_TO_DISK =
  "SELECT CASE current_setting('synchronous_commit', true) WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END";

/**
 * Opens a PostgreSQL database, or another one that speaks its protocol, and brings its schema up to date. Waits for a
 * server that starts later.
 */
export async function openRepository(url: string, options: DatabaseOptions): Promise<PlantRepository> {
  const { timeout, startTimeout, onWait } = options;
  const pool = new PostgresPool(url, timeout);
  let announce = onWait;
  const mayPass = (error: unknown): boolean => {
    // Another instance that creates the same tables is no reason to wait for long.
    if (postgresFailure(error) === 'transient') {
      announce?.(postgresStartError(url, error).message);
      announce = undefined;
    }
    return mayPassAtStart(error);
  };
  try {
    const retry = new Retry(mayPass, () => Math.random() * START_INTERVAL);
    await retry.run(() => updatePostgresSchema(pool), startTimeout);
  } catch (error) {
    await pool.close();
    throw postgresStartError(url, error);
  }
  return new PostgresRepository(pool, url, options);
}

/**
 * Tries out a database, which stays as it is. Does not wait for a server that cannot be reached.
 *
 * @returns whether the table of plants is there
 * @throws {OperatorError} when a start would refuse the database
 */
export async function tryOutDatabase(url: string, { timeout }: DatabaseOptions): Promise<boolean> {
  const pool = new PostgresPool(url, timeout);
  try {
    return await rehearsePostgresSchema(pool);
  } catch (error) {
    throw postgresStartError(url, error);
  } finally {
    await pool.close();
  }
}

/**
 * Takes a snapshot in a transaction, on a connection of its own: it takes none of those that add plants, and its queries
 * may take longer. Behind a pooler in transaction mode, it stays on one connection to the server.
 *
 * @returns undefined if there is no table of plants
 * @throws {OperatorError} when the database cannot be read
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
    const connection = { arrayFunction: 'json_agg', byteLength: BYTE_LENGTH, query, close: () => opened.end() };
    if (hasPlants) return new SqlSnapshot(connection);
  } catch (error) {
    await client?.end();
    throw postgresStartError(url, error);
  }
  await client.end();
  return undefined;
}

class PostgresRepository extends PlantRepository {
  readonly #retry = new Retry(
    (error) => postgresFailure(error) === 'transient',
    () => Math.random() * RETRY_INTERVAL,
  );

  constructor(
    private readonly pool: PostgresPool,
    private readonly url: string,
    private readonly options: DatabaseOptions,
  ) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    try {
      return await this.#retry.run(() => this.#attempt(batch), this.options.timeout);
    } catch (error) {
      throw postgresFailure(error) === undefined
        ? error
        : unavailable('the database did not store them', error, describePostgresError(error));
    }
  }

  override async check(): Promise<void> {
    const timeout = Math.min(this.options.timeout, CHECK_TIMEOUT);
    try {
      // Stop retrying one interval early, so that the last error wins over the timeout.
      const checked = this.#retry.run(() => tryOut(this.pool, timeout), timeout - RETRY_INTERVAL);
      const isLate = await Promise.race([checked.then(() => false), setTimeout(timeout, true, { ref: false })]);
      if (isLate) throw new Error(`it did not answer within ${timeout} ms`);
    } catch (error) {
      throw unavailable('the database cannot store plants', error, describePostgresError(error));
    }
  }

  override snapshot(): Promise<PlantSnapshot> {
    return requireSnapshot(() => openSnapshot(this.url, this.options));
  }

  override async close(): Promise<void> {
    await this.pool.close();
  }

  /** Adds the plants that are missing, so that it can be repeated after any failure. */
  async #attempt(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const created = await this.#insert(firstOfEachId(batch));
    const taken = batch.filter(({ id }) => !created.has(id));
    const stored = taken.length === 0 ? [] : await this.#find(taken);
    // Another attempt finds these ids free.
    if (stored.length < firstOfEachId(taken).length) throw new Error('another program deletes plants');
    return outcomesOf(batch, stored);
  }

  /** Inserts the plants whose ids are free, and returns these ids. */
  async #insert(plants: readonly StoredPlant[]): Promise<ReadonlySet<bigint>> {
    // In the order of ids: two batches that wait for each other's ids would deadlock.
    const inOrder = [...plants].sort((one, other) => (one.id < other.id ? -1 : 1));
    const rows = await this.pool.transact(`${COMMIT_TO_DISK}; ${insertionOf(inOrder)} RETURNING id`);
    return new Set(rows.map(([id]) => id as bigint));
  }

  /**
   * Finds the plants with the ids of these. Their texts come only if one of these has the same id and length: requests of
   * a few bytes could otherwise bring a thousand long plants into memory.
   */
  async #find(taken: readonly StoredPlant[]): Promise<StoredPlant[]> {
    const ids = taken.map(({ id }) => id).join();
    const lengths = taken.map((plant) => `${plant.id}:${byteLengthOf(plant)}`).join();
    const rows = await this.pool.transact(`
      SELECT ${FITTING_COLUMNS} FROM (
        SELECT ${COLUMN_NAMES.join()},
          CAST(id AS text) || ':' || CAST(${BYTE_LENGTH} AS text) = ANY ('{${lengths}}'::text[]) AS fits
        FROM plants WHERE id = ANY ('{${ids}}'::bigint[])
      ) AS found`);
    return rows.map(plantOf);
  }
}

function firstOfEachId(batch: readonly StoredPlant[]): StoredPlant[] {
  const plants = new Map<bigint, StoredPlant>();
  for (const plant of batch) if (!plants.has(plant.id)) plants.set(plant.id, plant);
  return [...plants.values()];
}

/**
 * Returns the outcome of each plant, as if they had been added one after another.
 *
 * @param stored the plants with ids of the batch that were there before
 */
function outcomesOf(batch: readonly StoredPlant[], stored: readonly StoredPlant[]): Outcome[] {
  const owners = new Map(stored.map((plant) => [plant.id, plant]));
  return batch.map((plant) => {
    const owner = owners.get(plant.id);
    if (owner === undefined) {
      owners.set(plant.id, plant);
      return 'created';
    }
    return isSamePlant(plant, owner) ? 'repeated' : 'conflict';
  });
}
