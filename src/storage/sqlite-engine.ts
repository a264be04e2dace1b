import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
} from 'kysely';
import { migrate } from './migrations/migrate.js';
import { RepositoryStartError } from './plant-repository.js';
import type { Engine, Schema } from './sql-plant-repository.js';

/** Milliseconds that the start waits for another process to let go of the database. */
const START_TIMEOUT = 5_000;

/**
 * Pages of the write-ahead log, 32 MiB, after which they go to where they belong. That keeps everybody waiting, and so is
 * to happen seldom; a page that was written again and again meanwhile goes there once. But the disk takes what makes the
 * log longer more slowly than what is written over an older part of it.
 */
const CHECKPOINT = 8_192;

/** Kibibytes of pages in memory: of random ids, only the inner pages are found again, and four mebibytes hold those of 30 million plants. */
const CACHE = 4_096;

/** Statements that are kept; one of a full batch takes 0.1 MB. */
const MAX_PREPARED = 32;

/** Another process is in the way; each code comes also with a suffix (SQLITE_BUSY_RECOVERY). */
const TRANSIENT = /^SQLITE_(?:BUSY|LOCKED|PROTOCOL)/;

/** Nothing can be stored until somebody does something. */
const UNAVAILABLE = /^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN|NOMEM)/;

/** What the operator is told when a database cannot be opened, by the code of SQLite's or the system's error. */
const START_ERRORS: readonly [RegExp, string][] = [
  [/^SQLITE_(?:NOTADB|CORRUPT)/, 'is no SQLite database, or a damaged one; restore a backup or name another file'],
  [/^SQLITE_(?:BUSY|LOCKED)/, 'is locked by another process; stop that one first'],
  [/^SQLITE_READONLY/, 'cannot be written; give this user the right to, on the file and its directory'],
  [/^(?:SQLITE_CANTOPEN|E[A-Z]+$)/, 'cannot be opened; it must be a file in a directory where this user may write'],
  [/^SQLITE_FULL/, 'has no room left on its disk; free some'],
  [/^SQLITE_IOERR/, 'cannot be read or written; look after its disk, and stop other processes that use it'],
];

/**
 * Opens or creates a SQLite database whose commits have reached the disk when they return.
 *
 * @param file a path, or `:memory:`
 * @throws {RepositoryStartError} when it cannot be had
 */
export async function openSqlite(file: string): Promise<Engine> {
  let engine: SqliteEngine | undefined;
  try {
    engine = new SqliteEngine(file);
    await engine.start();
    return engine;
  } catch (error) {
    await engine?.database.destroy();
    throw sqliteStartError(file, error);
  }
}

class SqliteEngine implements Engine {
  readonly database: Kysely<Schema>;
  /** There is one writer at a time. */
  readonly concurrency = 1;
  readonly #connection: Database.Database;

  constructor(file: string) {
    if (file !== ':memory:') makeDirectory(dirname(resolve(file)));
    const connection = new Database(file, { timeout: START_TIMEOUT });
    // A number cannot hold an int64.
    connection.defaultSafeIntegers(true);
    connection.pragma('journal_mode = WAL');
    // NORMAL, the usual companion of WAL, syncs at checkpoints alone: a power cut would lose answered plants.
    connection.pragma('synchronous = FULL');
    connection.pragma(`wal_autocheckpoint = ${CHECKPOINT}`);
    connection.pragma(`cache_size = -${CACHE}`);
    const database = file === ':memory:' ? connection : watchFiles(connection, file);
    this.database = new Kysely<Schema>({ dialect: new TransactionalSqliteDialect({ database }) });
    this.#connection = connection;
  }

  async start(): Promise<void> {
    await migrate(this.database, 'sqlite');
    // A damaged table is better found now than by a client.
    await this.database
      .selectFrom('plants')
      .select(({ fn }) => [fn.min('id').as('least'), fn.max('id').as('greatest')])
      .execute();
    // SQLite waits by stopping the process; from now on it is the repository that waits.
    this.#connection.pragma('busy_timeout = 0');
  }

  durably<Result>(run: (database: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return run(this.database);
  }

  isTransient(error: unknown): boolean {
    return TRANSIENT.test(codeOf(error));
  }

  isUnavailable(error: unknown): boolean {
    return UNAVAILABLE.test(codeOf(error));
  }
}

/** Makes a directory that is there after a power cut, too: a directory's name is on disk when its parent is. */
function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made !== dirname(first); made = dirname(made)) {
    const parent = openSync(dirname(made), 'r');
    fsyncSync(parent);
    closeSync(parent);
  }
}

/**
 * SQLite writes on to files that somebody has removed or replaced, where no later start would find the plants, and where
 * another process would not see them. So the files are looked at before each statement, which must not write to a log
 * that others write to without our locks, and after it, before anybody is told that it was done.
 */
function watchFiles(connection: Database.Database, file: string): SqliteDatabase {
  const path = resolve(file);
  const identities = new Map<string, string>();
  /** By their text, of which an INSERT has another one for each size of a batch. */
  const prepared = new Map<string, Database.Statement>();
  const assertInPlace = (): void => {
    for (const [name, identity] of identities) {
      if (identityOf(name) !== identity) {
        // What is begun would go on when the files are back, and nothing would be committed any more.
        if (connection.inTransaction) connection.exec('ROLLBACK');
        // The code that SQLite itself has for this, on the systems where it looks.
        throw Object.assign(new Error('the files of the database are not in their place any more'), {
          code: 'SQLITE_IOERR_VNODE',
        });
      }
    }
  };
  const watched = <Result>(run: () => Result): Result => {
    assertInPlace();
    const result = run();
    // SQLite makes the log and its index with the first statement, and keeps them while the connection is open.
    for (const name of [path, `${path}-wal`, `${path}-shm`]) {
      const identity = identities.has(name) ? undefined : identityOf(name);
      if (identity !== undefined) identities.set(name, identity);
    }
    assertInPlace();
    return result;
  };
  return {
    close: () => connection.close(),
    prepare(sql) {
      let statement = prepared.get(sql);
      if (statement === undefined) {
        if (prepared.size === MAX_PREPARED) prepared.clear();
        statement = connection.prepare(sql);
        prepared.set(sql, statement);
      }
      return {
        reader: statement.reader,
        all: (parameters) => watched(() => statement.all(...parameters)),
        run: (parameters) => watched(() => statement.run(...parameters)),
        iterate: (parameters) => statement.iterate(...parameters),
      };
    },
  };
}

/** Which file a name stands for; undefined where there is none to be found, for whatever reason. */
function identityOf(name: string): string | undefined {
  try {
    const { dev, ino } = statSync(name);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** The error for the operator, where opening or migrating the database failed with `error`. */
export function sqliteStartError(file: string, error: unknown): RepositoryStartError {
  const code = codeOf(error);
  const reason =
    error instanceof RepositoryStartError
      ? error.message
      : (START_ERRORS.find(([pattern]) => pattern.test(code))?.[1] ?? 'cannot be used, for an unknown reason');
  return new RepositoryStartError(`the database ${file} ${reason}`, { cause: error });
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
