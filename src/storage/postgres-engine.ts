import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import { Kysely, PostgresAdapter, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely';
import pg from 'pg';
import { migrate } from './migrations/migrate.js';
import { RepositoryStartError } from './plant-repository.js';
import type { Engine, Schema } from './sql-plant-repository.js';

/** What a database server takes, and a file does not. */
export interface ServerOptions {
  /** Milliseconds that the start waits for a server that cannot be reached yet. */
  readonly startTimeout: number;
  /** Connections at most, and so batches that are on their way at the same time. */
  readonly poolSize: number;
}

/** Milliseconds that a connection may rest before it is closed. */
const IDLE_TIMEOUT = 60_000;

/** Milliseconds between two attempts at the start, at most. */
const START_INTERVAL = 500;

/** The type int8, of which the driver makes text by default. */
const INT8 = pg.types.builtins.INT8;

/**
 * By SQLSTATE: the connection failed (08), or the transaction did, for one that ran beside it (40); the server lacks
 * resources (53), was told to stop, is starting or cancels what takes long (57), waits for no lock (55P03), closed an
 * idle connection (25P03), or is a standby, which a connection made anew may not reach any more (25006). PgBouncer says
 * 08P01 for all that is its own. XX000 is how distributed engines tell of a node that they cannot reach.
 */
const TRANSIENT = /^(?:08|40|53|57|55P03|25006|25P03|XX000)/;

/** Somebody has to do something: about the disk (58, XX), the role (28, 42501) or the database (3D). */
const UNAVAILABLE = /^(?:58|XX|28|42501|3D)/;

/** Another instance is making the same tables: they exist already, or there were two who wrote to the catalog. */
const RACE = /^(?:42P07|42710|23505|XX000|40)/;

/** What the operator is told, by the SQLSTATE or the code of the system's or OpenSSL's error, else by its text. */
const START_ERRORS: readonly [RegExp, string][] = [
  [/^28|^SASL/, 'does not let this user in; look after user and password in DATABASE_URL, and pg_hba.conf'],
  [/^3D000/, 'does not exist on its server; create it first, for example with createdb'],
  [/^42501/, 'does not let this user do what is needed; grant it CREATE on the schema, or SELECT and INSERT on plants'],
  [/^25006/, 'is read-only; name the primary server'],
  [/^53300/, 'has no connection left; raise max_connections of its server'],
  [
    /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/,
    'cannot be reached over TLS; look after sslmode and sslrootcert in DATABASE_URL, and the certificate of the server',
  ],
];

/** Those that waiting does not mend. */
const FINAL = /^(?:28|3D|42)|^SASL|CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/;

/**
 * Opens a PostgreSQL database, or another one that speaks its protocol, and brings its schema up to date.
 *
 * @param timeout milliseconds after which the repository gives up
 * @throws {RepositoryStartError} when it cannot be had
 */
export async function openPostgres(url: string, timeout: number, server: ServerOptions): Promise<Engine> {
  let engine: PostgresEngine | undefined;
  try {
    engine = new PostgresEngine(connectionOf(url), timeout, server.poolSize);
    await startWithin(server.startTimeout, engine);
    return engine;
  } catch (error) {
    await engine?.database.destroy();
    throw startError(url, error);
  }
}

/** Containers start in any order. */
async function startWithin(timeout: number, engine: PostgresEngine): Promise<void> {
  const deadline = performance.now() + timeout;
  for (;;) {
    try {
      await engine.start();
      return;
    } catch (error) {
      const code = codeOf(error);
      const mayPass = RACE.test(code) || (engine.isTransient(error) && !FINAL.test(code));
      if (!mayPass || performance.now() > deadline) throw error;
      await setTimeout(Math.random() * START_INTERVAL);
    }
  }
}

interface Settings {
  readonly commits: string | null;
  readonly encoding: string;
}

class PostgresEngine implements Engine {
  readonly database: Kysely<Schema>;
  /** Whether a commit returns before it is on the disk, by the settings of the server, the database or the role. */
  #commitsEarly = false;

  constructor(
    connection: pg.PoolConfig,
    timeout: number,
    readonly concurrency: number,
  ) {
    const pool = new pg.Pool({
      ...connection,
      max: concurrency,
      idleTimeoutMillis: IDLE_TIMEOUT,
      keepAlive: true,
      // Half of the time there is: who hangs leaves as much for another attempt, on another connection.
      connectionTimeoutMillis: Math.ceil(timeout / 2),
      query_timeout: Math.ceil(timeout / 2),
      verify: (client, done) => void this.#inspect(client).then(() => done(), done),
      // For these connections alone: in a host, others may use the driver, too.
      types: {
        getTypeParser: ((...type: Parameters<typeof pg.types.getTypeParser>): unknown =>
          type[0] === INT8 ? BigInt : pg.types.getTypeParser(...type)) as typeof pg.types.getTypeParser,
      },
    });
    // Whoever waits for the connection is told; nobody waits for an idle one.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    this.database = new Kysely<Schema>({
      dialect: new LockFreePostgresDialect({ pool: new DiscerningPool(pool) }),
    });
  }

  /** Looks at what a server, a database or a role may have set for a new connection. */
  async #inspect(client: pg.ClientBase): Promise<void> {
    const { rows } = await client.query<Settings>(
      "SELECT current_setting('synchronous_commit', true) AS commits, current_setting('server_encoding') AS encoding",
    );
    const [settings] = rows;
    if (settings?.commits === 'off') this.#commitsEarly = true;
    if (settings?.encoding !== 'UTF8') {
      throw new RepositoryStartError(
        `has the encoding ${String(settings?.encoding)}, which cannot hold any text; create it with ENCODING 'UTF8'`,
      );
    }
  }

  async start(): Promise<void> {
    await migrate(this.database, 'postgres');
    const { rows } = await sql<{ allowed: boolean }>`
      SELECT has_table_privilege('plants', 'SELECT') AND has_table_privilege('plants', 'INSERT') AS allowed
    `.execute(this.database);
    if (rows[0]?.allowed !== true) {
      throw Object.assign(new Error('permission denied for table plants'), { severity: 'ERROR', code: '42501' });
    }
  }

  /** Not a setting of the session: behind PgBouncer, the next statement may belong to another one. */
  durably<Result>(run: (database: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    if (!this.#commitsEarly) return run(this.database);
    return this.database.transaction().execute(async (transaction) => {
      await sql`SET LOCAL synchronous_commit = on`.execute(transaction);
      return run(transaction);
    });
  }

  isTransient(error: unknown): boolean {
    // What has no SQLSTATE comes from the connection, and the next one may be better.
    return isOfServer(error) ? TRANSIENT.test(codeOf(error)) : isOfConnection(error);
  }

  isUnavailable(error: unknown): boolean {
    return isOfServer(error) && UNAVAILABLE.test(codeOf(error));
  }
}

/**
 * What the URL says of the connection. The driver's own reading of `sslmode` is not libpq's: it takes `require` for
 * `verify-full`, and says that this will change.
 */
function connectionOf(url: string): pg.PoolConfig {
  const parsed = new URL(url);
  const take = (name: string): string | undefined => {
    const value = parsed.searchParams.get(name) ?? undefined;
    parsed.searchParams.delete(name);
    return value;
  };
  const read = (name: string): Buffer | undefined => {
    const file = take(name);
    try {
      return file === undefined ? undefined : readFileSync(file);
    } catch (error) {
      throw new RepositoryStartError(`cannot be reached: the ${name} of DATABASE_URL cannot be read, ${String(file)}`, {
        cause: error,
      });
    }
  };
  const mode = take('sslmode') ?? 'disable';
  const [ca, cert, key] = [read('sslrootcert'), read('sslcert'), read('sslkey')];
  const certificates = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return { connectionString: parsed.href, ssl: verificationOf(mode, ca !== undefined, certificates) };
}

/** As libpq has it; `openRepository` lets no other mode pass. */
function verificationOf(mode: string, hasAuthority: boolean, certificates: ConnectionOptions): pg.PoolConfig['ssl'] {
  if (mode === 'disable') return false;
  if (mode === 'verify-full') return certificates;
  if (mode === 'verify-ca' || (mode === 'require' && hasAuthority)) {
    return { ...certificates, checkServerIdentity: () => undefined };
  }
  return { ...certificates, rejectUnauthorized: false };
}

/** A pool that keeps no connection in doubt: one that hangs, is cut, or leads to a server that is not the primary. */
class DiscerningPool implements PostgresPool {
  constructor(private readonly pool: pg.Pool) {}

  async connect(): Promise<PostgresPoolClient> {
    const client = await this.pool.connect();
    let inDoubt = false;
    const query = async (text: string, parameters: unknown[]): Promise<unknown> => {
      try {
        return await client.query(text, parameters);
      } catch (error) {
        // After a conflict with another transaction, the connection is as good as before.
        inDoubt ||= !(isOfServer(error) && codeOf(error).startsWith('40'));
        throw error;
      }
    };
    return { query: query as PostgresPoolClient['query'], release: () => client.release(inDoubt) };
  }

  end(): Promise<void> {
    return this.pool.end();
  }
}

/**
 * Kysely locks migrations for the session, which neither PgBouncer in transaction mode nor CockroachDB has. Ours need
 * no lock: who comes second fails, or finds everything made, and tries again.
 */
class LockFreePostgresDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new LockFreePostgresAdapter();
  }
}

class LockFreePostgresAdapter extends PostgresAdapter {
  override acquireMigrationLock(): Promise<void> {
    return Promise.resolve();
  }

  override releaseMigrationLock(): Promise<void> {
    return Promise.resolve();
  }
}

/** The error for the operator; it names the database as the URL does, without user and password. */
function startError(url: string, error: unknown): RepositoryStartError {
  const { protocol, host, pathname } = new URL(url);
  const reason =
    error instanceof RepositoryStartError
      ? error.message
      : (START_ERRORS.find(([pattern]) => pattern.test(codeOf(error)))?.[1] ??
        `cannot be reached or used (${codeOf(error)}); look after its server and DATABASE_URL`);
  return new RepositoryStartError(`the database ${protocol}//${host}${pathname} ${reason}`, { cause: error });
}

/** Whether the server said so; then the code is a SQLSTATE. */
function isOfServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error;
}

/** Whether it is not for a defect of this program's. */
function isOfConnection(error: unknown): boolean {
  return (
    error instanceof Error &&
    !(error instanceof TypeError || error instanceof RangeError || error instanceof RepositoryStartError)
  );
}

/** The SQLSTATE, or the code of the system's or of OpenSSL's error; the driver's own errors have but their text. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
