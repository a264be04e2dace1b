import { resolve } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { UnusableDatabaseError } from './start-error.js';

/** A connection to a SQLite database, the same for both drivers. */
export interface SqliteDatabase {
  /** Runs statements without parameters and without a result. */
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  /** Prepares a query for many rows: it reads them one by one, as arrays of their columns. */
  prepareQuery(sql: string): (...parameters: SqliteValue[]) => IterableIterator<unknown>;
  /**
   * Copies the database, as this connection sees it, to a file.
   *
   * @param onProgress called after each step with the part that is copied, from 0 to 1; an error that it throws ends it
   */
  backup(target: string, onProgress: (part: number) => void): Promise<void>;
  close(): void;
}

/** A prepared statement. It reads integers as bigint, because a number cannot hold an int64. */
interface SqliteStatement {
  run(...parameters: SqliteValue[]): { readonly changes: number | bigint };
  /** Returns the first row, as an object of its columns. */
  get(...parameters: SqliteValue[]): unknown;
}

type SqliteValue = bigint | string | null;

export type SqliteDriver = 'node:sqlite' | 'better-sqlite3';

/** Node has SQLite itself; it warns that this is experimental before 24.15. */
const NODE_MAJOR = Number(process.versions.node.split('.', 1)[0]);
const DRIVER: SqliteDriver = NODE_MAJOR >= 24 ? 'node:sqlite' : 'better-sqlite3';

/** Pages between two reports of progress of a backup: 4 MiB. */
const BACKUP_PAGES = 1_024;

/**
 * Opens a database, or creates it unless the connection is to be read-only.
 *
 * @param file a path, or `:memory:`
 * @param options.readOnly whether the connection writes nothing, not even a checkpoint; the file must exist
 */
export async function openSqliteDatabase(
  file: string,
  driver = DRIVER,
  { readOnly = false } = {},
): Promise<SqliteDatabase> {
  // An absolute path, because node:sqlite takes a name that begins with `file:` as a URI, and better-sqlite3 does not.
  const path = file === ':memory:' ? file : resolve(file);
  return driver === 'node:sqlite' ? openWithNode(path, readOnly) : openWithBetterSqlite(path, readOnly);
}

/** The members of `node:sqlite` in use: the types of the oldest supported Node do not have it. */
interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly readOnly: boolean },
  ) => {
    exec(sql: string): void;
    prepare(sql: string): SqliteStatement & {
      iterate(...parameters: SqliteValue[]): IterableIterator<unknown>;
      setReadBigInts(enabled: boolean): void;
      setReturnArrays(enabled: boolean): void;
    };
    close(): void;
  };
  readonly backup: (
    source: object,
    target: string,
    options: { readonly rate: number; readonly progress: (progress: BackupProgress) => void },
  ) => Promise<unknown>;
}

interface BackupProgress {
  readonly totalPages: number;
  readonly remainingPages: number;
}

function openWithNode(path: string, readOnly: boolean): SqliteDatabase {
  const { DatabaseSync, backup } = process.getBuiltinModule('node:sqlite') as unknown as NodeSqlite;
  const database = new DatabaseSync(path, { readOnly });
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      // For statements that only write, too: Node 26 throws a RangeError for the rowid of a large id.
      statement.setReadBigInts(true);
      return statement;
    },
    prepareQuery(sql) {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      statement.setReturnArrays(true);
      return (...parameters) => statement.iterate(...parameters);
    },
    async backup(target, onProgress) {
      await backup(database, target, { rate: BACKUP_PAGES, progress: (progress) => onProgress(partOf(progress)) });
    },
    close: () => database.close(),
  };
}

async function openWithBetterSqlite(path: string, readonly: boolean): Promise<SqliteDatabase> {
  const { default: Database } = await import('better-sqlite3').catch(refuseMissingPackage);
  const database = construct(Database, path, readonly).defaultSafeIntegers(true);
  return {
    exec: (sql) => void database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    prepareQuery(sql) {
      const statement = database.prepare<SqliteValue[]>(sql).raw(true);
      return (...parameters) => statement.iterate(...parameters);
    },
    async backup(target, onProgress) {
      const progress = (state: BackupProgress): number => {
        onProgress(partOf(state));
        return BACKUP_PAGES;
      };
      await database.backup(target, { progress });
    },
    close: () => void database.close(),
  };
}

function partOf({ totalPages, remainingPages }: BackupProgress): number {
  return 1 - remainingPages / totalPages;
}

function refuseMissingPackage(error: unknown): never {
  if (!(error instanceof Error && error.message.includes("'better-sqlite3'"))) throw error;
  throw new UnusableDatabaseError(
    'needs the package better-sqlite3 on Node before 24: npm install better-sqlite3@12, or use a newer Node',
    { cause: error },
  );
}

/** Constructs the first database, with which the package loads its native binding, or another one. */
function construct(Database: typeof BetterSqlite3, path: string, readonly: boolean): BetterSqlite3.Database {
  try {
    return new Database(path, { readonly });
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    if (code !== 'ERR_DLOPEN_FAILED' && !String(message).startsWith('Could not locate the bindings file')) throw error;
    throw new UnusableDatabaseError(
      'needs the native binding of better-sqlite3, which is missing or made for another Node: let npm run its install ' +
        'script (npm approve-scripts better-sqlite3, from npm 11 on), then run npm rebuild better-sqlite3',
      { cause: error },
    );
  }
}
