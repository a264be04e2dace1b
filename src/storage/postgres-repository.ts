import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { DatabaseOptions } from './database-options.js';
import type { Outcome, PlantRepository, PlantSnapshot, StoredPlant } from './plant-repository.js';
import { connectionSettings } from './postgres-connection.js';
import { MISSING_PRIVILEGES, mayPassAtStart, postgresFailure, postgresStartError } from './postgres-errors.js';
import { hasCitus, schemaVersion, updatePostgresSchema } from './postgres-schema.js';
import { openPostgresSnapshot } from './postgres-snapshot.js';
import { type Failure, RetryingRepository } from './retrying-repository.js';
import { UnusableDatabaseError } from './start-error.js';

/** Milliseconds after which an idle connection is closed. */
const IDLE_TIMEOUT = 60_000;

/** Maximum milliseconds between two attempts of the start. */
const START_INTERVAL = 500;

/**
 * Makes the transaction wait for the disk if the server, the database or the role has turned that off. It travels with
 * the statement, because behind a pooler the next statement may run on another connection. Engines without the setting
 * read it as null. RETURNING evaluates it for inserted rows only; a statement that stored nothing needs no sync.
 */
const COMMIT_TO_DISK =
  "CASE current_setting('synchronous_commit', true) WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END";

/**
 * Opens a PostgreSQL database, or another one that speaks its protocol, and brings its schema up to date.
 *
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function openPostgresRepository(url: string, options: DatabaseOptions): Promise<PlantRepository> {
  let pool: pg.Pool | undefined;
  try {
    pool = createPool(url, options);
    const isCitus = await tryWithin(options.startTimeout, pool, async (client) => {
      await prepare(client);
      return hasCitus(client);
    });
    return new PostgresRepository(pool, url, options, isCitus);
  } catch (error) {
    await pool?.end();
    throw postgresStartError(url, error);
  }
}

/**
 * Checks that `openPostgresRepository` can open a database, and changes nothing.
 *
 * @returns whether the table of plants is there
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function checkPostgresDatabase(url: string, options: DatabaseOptions): Promise<boolean> {
  let pool: pg.Pool | undefined;
  try {
    pool = createPool(url, options);
    return await tryWithin(options.startTimeout, pool, async (client) => {
      await assertEncoding(client);
      if ((await schemaVersion(client)) > 0) {
        await assertGranted(client, TABLE_PRIVILEGES);
        return true;
      }
      await assertGranted(client, "has_schema_privilege(current_schema(), 'CREATE')");
      return false;
    });
  } catch (error) {
    throw postgresStartError(url, error);
  } finally {
    await pool?.end();
  }
}

function createPool(url: string, { timeout, poolSize }: DatabaseOptions): pg.Pool {
  // Half of the timeout, so that an attempt on a connection that hangs leaves as much for another attempt.
  const attemptTimeout = Math.ceil(timeout / 2);
  const pool = new pg.Pool({
    ...connectionSettings(url),
    max: poolSize,
    idleTimeoutMillis: IDLE_TIMEOUT,
    keepAlive: true,
    connectionTimeoutMillis: attemptTimeout,
    query_timeout: attemptTimeout,
    // For these connections alone: a host may use the driver, too. A number cannot hold an int64.
    types: {
      getTypeParser: ((...type: Parameters<typeof pg.types.getTypeParser>): unknown =>
        type[0] === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(...type)) as typeof pg.types.getTypeParser,
    },
  });
  // A query reports the failure of its connection itself; that of an idle connection concerns no request.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Runs `work` on a connection, waiting for a server that starts later. */
async function tryWithin<Result>(
  timeout: number,
  pool: pg.Pool,
  work: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + timeout;
  for (;;) {
    try {
      return await withClient(pool, work);
    } catch (error) {
      if (!mayPassAtStart(error) || performance.now() > deadline) throw error;
      await setTimeout(Math.random() * START_INTERVAL);
    }
  }
}

/** Brings the schema up to date, and checks that the database can store plants. */
async function prepare(client: pg.ClientBase): Promise<void> {
  await assertEncoding(client);
  await updatePostgresSchema(client);
  await assertGranted(client, TABLE_PRIVILEGES);
}

async function assertEncoding(client: pg.ClientBase): Promise<void> {
  const encoding = await client.query<{ name: string }>("SELECT current_setting('server_encoding') AS name");
  const { name = '' } = encoding.rows[0] ?? {};
  if (name !== 'UTF8') {
    throw new UnusableDatabaseError(
      `has the encoding ${name}, which cannot hold every text; create it with ENCODING 'UTF8'`,
    );
  }
}

const TABLE_PRIVILEGES = "has_table_privilege('plants', 'SELECT') AND has_table_privilege('plants', 'INSERT')";

async function assertGranted(client: pg.ClientBase, condition: string): Promise<void> {
  const { rows } = await client.query<{ granted: boolean }>(`SELECT ${condition} AS granted`);
  if (rows[0]?.granted !== true) throw new UnusableDatabaseError(MISSING_PRIVILEGES);
}

/**
 * Runs `work` on a connection of the pool. Closes the connection after an error: it may hang, lead to a standby, or be in
 * a transaction.
 */
async function withClient<Result>(pool: pg.Pool, work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let isFit = false;
  try {
    const result = await work(client);
    isFit = true;
    return result;
  } finally {
    client.release(!isFit);
  }
}

/** The id was taken, but another program had deleted its plant before the look-up. */
class VanishedError extends Error {}

class PostgresRepository extends RetryingRepository {
  override readonly concurrency: number;

  constructor(
    private readonly pool: pg.Pool,
    private readonly url: string,
    private readonly options: DatabaseOptions,
    private readonly isCitus: boolean,
  ) {
    super(options.timeout);
    this.concurrency = options.poolSize;
  }

  override snapshot(): Promise<PlantSnapshot> {
    return openPostgresSnapshot(this.url, this.options);
  }

  override async close(): Promise<void> {
    await this.pool.end();
  }

  protected override async attempt(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    return withClient(this.pool, (client) => this.#add(client, batch));
  }

  protected override async tryToWrite(): Promise<void> {
    await withClient(this.pool, async (client) => {
      await client.query('BEGIN');
      // A random id, so that no client who creates a plant waits for the end of this transaction.
      const id = randomBytes(8).readBigInt64LE();
      await client.query("INSERT INTO plants (id, name) VALUES ($1, '') ON CONFLICT (id) DO NOTHING", [id]);
      await client.query('ROLLBACK');
    });
  }

  protected override failureOf(error: unknown): Failure | undefined {
    return error instanceof VanishedError ? 'transient' : postgresFailure(error);
  }

  async #add(client: pg.ClientBase, batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    /** The plant that the store has for each id after the batch. */
    const stored = new Map<bigint, StoredPlant>();
    for (const plant of batch) if (!stored.has(plant.id)) stored.set(plant.id, plant);
    const created = await this.#insert(client, [...stored.values()]);
    const others = [...stored.keys()].filter((id) => !created.has(id));
    const found = others.length === 0 ? [] : await find(client, others);
    if (found.length < others.length) throw new VanishedError('another program deletes plants');
    for (const plant of found) stored.set(plant.id, plant);
    return batch.map((plant) => {
      // Only the first plant of the batch with an id can be the one that was created.
      if (created.delete(plant.id)) return 'created';
      const { name, tag } = stored.get(plant.id) ?? {};
      return plant.name === name && plant.tag === tag ? 'repeated' : 'conflict';
    });
  }

  /** Inserts the plants whose ids are free, and returns these ids. */
  async #insert(client: pg.ClientBase, plants: readonly StoredPlant[]): Promise<Set<bigint>> {
    // In the order of ids: two batches that wait for each other's ids would deadlock.
    const values = [...plants]
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .flatMap(({ id, name, tag }) => [id, name, tag ?? null]);
    const rows = plants.map((_, index) => `($${3 * index + 1}, $${3 * index + 2}, $${3 * index + 3})`);
    // Rows of VALUES: Citus counts the rows of unnest wrongly.
    const insert = `INSERT INTO plants (id, name, tag) VALUES ${rows.join()} ON CONFLICT (id) DO NOTHING RETURNING id`;
    if (!this.isCitus) return idsOf(await client.query<{ id: bigint }>(`${insert}, ${COMMIT_TO_DISK}`, values));
    // Citus refuses functions that are not immutable in RETURNING.
    await client.query(`BEGIN; SELECT ${COMMIT_TO_DISK}`);
    const inserted = await client.query<{ id: bigint }>(insert, values);
    await client.query('COMMIT');
    return idsOf(inserted);
  }
}

function idsOf({ rows }: pg.QueryResult<{ id: bigint }>): Set<bigint> {
  return new Set(rows.map(({ id }) => id));
}

async function find(client: pg.ClientBase, ids: readonly bigint[]): Promise<StoredPlant[]> {
  const { rows } = await client.query<{ id: bigint; name: string; tag: string | null }>(
    'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[])',
    [ids],
  );
  return rows.map(({ id, name, tag }) => ({ id, name, tag: tag ?? undefined }));
}
