import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { CompiledQuery, type DatabaseConnection, Kysely, SqliteAdapter, SqliteDialect, SqliteDriver } from 'kysely';
import { RepositoryStartError } from './plant-repository.js';
import type { Engine, Schema } from './sql-plant-repository.js';

/** Milliseconds that a statement waits for another process to let go of the database. */
const BUSY_TIMEOUT = 1_000;

/** Nothing was stored now, and something may be later; each comes also with a suffix (SQLITE_IOERR_WRITE). */
const UNAVAILABLE = /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|NOMEM)/;

/** What the operator is told when a database cannot be opened, by the first words of SQLite's code. */
const START_ERRORS: readonly [RegExp, string][] = [
  [/^SQLITE_(?:NOTADB|CORRUPT)/, 'is no SQLite database, or a damaged one; restore a backup or name another file'],
  [/^SQLITE_(?:BUSY|LOCKED)/, 'is locked by another process; stop that one first'],
  [/^SQLITE_READONLY/, 'cannot be written; give this user the right to, on the file and its directory'],
  [/^SQLITE_CANTOPEN/, 'cannot be opened; it must be a file in a directory where this user may write'],
  [/^SQLITE_FULL/, 'has no room left on its disk; free some'],
];

/**
 * Opens or creates a SQLite database whose commits have reached the disk when they return.
 *
 * @param file a path, or `:memory:`
 */
export function openSqlite(file: string): Engine {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true });
  const connection = new Database(file, { timeout: BUSY_TIMEOUT });
  // A number cannot hold an int64.
  connection.defaultSafeIntegers(true);
  connection.pragma('journal_mode = WAL');
  // NORMAL, the usual companion of WAL, syncs at checkpoints alone: a power cut would lose answered plants.
  connection.pragma('synchronous = FULL');
  return {
    database: new Kysely<Schema>({
      dialect: new TransactionalSqliteDialect({ database: connection }),
    }),
    isUnavailable: (error) => UNAVAILABLE.test(codeOf(error)),
  };
}

/** The error for the operator, where opening or migrating the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): RepositoryStartError {
  if (error instanceof RepositoryStartError)
    return new RepositoryStartError(`the database ${file} ${error.message}`, { cause: error });
  const code = codeOf(error);
  const reason = START_ERRORS.find(([pattern]) => pattern.test(code))?.[1] ?? `cannot be opened (${code || 'no code'})`;
  return new RepositoryStartError(`the database ${file} ${reason}`, {
    cause: error,
  });
}

/** SQLite's name of the error; not by its class, of which the driver has one for each of a process's contexts. */
function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/**
 * Kysely runs SQLite's migrations outside a transaction, so that a crash between two statements,
 * or a second process, would leave a schema that no later start could mend.
 */
class TransactionalSqliteDialect extends SqliteDialect {
  readonly #config: ConstructorParameters<typeof SqliteDialect>[0];

  constructor(config: ConstructorParameters<typeof SqliteDialect>[0]) {
    super(config);
    this.#config = config;
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }

  override createDriver(): SqliteDriver {
    return new ImmediateSqliteDriver(this.#config);
  }
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class ImmediateSqliteDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    // A deferred transaction that reads first cannot wait for a writer afterwards, it fails at once.
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }
}
