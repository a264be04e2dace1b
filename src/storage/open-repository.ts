import { type PlantRepository, RepositoryStartError } from './plant-repository.js';
import type { ServerOptions } from './postgres-engine.js';
import { type Engine, SqlPlantRepository } from './sql-plant-repository.js';

/** Settings of a store beside its URL. */
export interface DatabaseOptions extends ServerOptions {
  readonly timeout: number;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000, poolSize: 4 };

/** Of libpq's, without `allow` and `prefer`, which somebody in the middle can turn off. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/**
 * Opens the store that a URL names, creates what does not exist yet, and brings its schema up to date.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`; or `postgres://…`, where the
 *   database must exist
 * @param timeout milliseconds that a batch may wait for others to let go of the store, or for a server to answer
 * @throws {RepositoryStartError} when it cannot be had; the message is one line for the operator
 */
export async function openRepository(url: string, options: Partial<DatabaseOptions> = {}): Promise<PlantRepository> {
  const { timeout, ...server } = { ...DATABASE_DEFAULTS, ...options };
  return new SqlPlantRepository(await openEngine(url, timeout, server), timeout);
}

async function openEngine(url: string, timeout: number, server: ServerOptions): Promise<Engine> {
  const file = sqliteFile(url);
  if (file !== undefined) {
    const { openSqlite } = await withDriver('better-sqlite3', () => import('./sqlite-engine.js'));
    return openSqlite(file);
  }
  if (!isPostgresUrl(url)) {
    throw new RepositoryStartError(
      'a database URL must be of the form sqlite:data/plants.db or postgres://user:password@host:5432/plants, ' +
        `where sslmode is one of ${SSL_MODES.join(', ')}`,
    );
  }
  const { openPostgres } = await withDriver('pg', () => import('./postgres-engine.js'));
  return openPostgres(url, timeout, server);
}

/** A host has to install only the driver that it uses. */
async function withDriver<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof Error && error.message.includes(`'${name}'`))) throw error;
    throw new RepositoryStartError(`the package ${name} is not installed: npm install ${name}`, { cause: error });
  }
}

/** Whether a URL names a store that there can be. */
export function isDatabaseUrl(url: string): boolean {
  return sqliteFile(url) !== undefined || isPostgresUrl(url);
}

/** The path in a SQLite URL, `:memory:` included, or undefined where the URL is another engine's. */
export function sqliteFile(url: string): string | undefined {
  return /^sqlite:(\S.*)$/.exec(url)?.[1];
}

function isPostgresUrl(url: string): boolean {
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url)) return false;
  return SSL_MODES.includes(new URL(url).searchParams.get('sslmode') ?? 'disable');
}
