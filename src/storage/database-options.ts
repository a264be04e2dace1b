import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';

/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a server that cannot be reached yet. SQLite does not use it. */
  readonly startTimeout: number;
  /**
   * Allocates the write-ahead log of a SQLite database at the start, for a store that is going to write for long. A log
   * that still grows makes a commit slower, because its sync writes the size of the file, too.
   */
  readonly allocateLog?: boolean;
  /** Called once if the start waits, with the reason in one line for the operator. */
  readonly onWait?: (reason: string) => void;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000 };

/** The modes of libpq without `allow` and `prefer`, which let an attacker on the network disable TLS. */
export const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/**
 * A URL with at most one @, which ends user and password (RFC 3986 §3.2.1). In a password, an @ is ambiguous, and one of
 * / ? # would end the host: the client would look for another server, and name a part of the password as its host.
 */
const POSTGRES_URL = /^postgres(?:ql)?:\/\/(?:[^/?#@]*@)?[^#@]*$/;

/** Returns whether `openRepository` accepts this URL. */
export function isDatabaseUrl(url: string): boolean {
  return sqliteFile(url) !== undefined || isPostgresUrl(url);
}

/** Returns the path in a SQLite URL, or `:memory:`; undefined for the URL of another engine. */
export function sqliteFile(url: string): string | undefined {
  // better-sqlite3 trims file names. Trimming here makes the two drivers, and the checks of the files, agree.
  return /^sqlite:(\S.*)$/.exec(url)?.[1]?.trimEnd();
}

export function isPostgresUrl(url: string): boolean {
  if (!POSTGRES_URL.test(url) || !URL.canParse(url)) return false;
  const { username, password, hostname, pathname, searchParams } = new URL(url);
  const isDecodable = [username, password, hostname, pathname].every(canDecode);
  return isDecodable && SSL_MODES.includes(searchParams.get('sslmode') ?? 'disable');
}

function canDecode(text: string): boolean {
  try {
    // Uses the result, without which Rolldown 1.2 removes the call.
    return decodeURIComponent(text).length <= text.length;
  } catch {
    return false;
  }
}

/** Returns the URL of a database without user, password and parameters. */
export function databaseName(url: string): string {
  if (!isPostgresUrl(url)) return url;
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Returns whether two URLs certainly name the same database. */
export function isSameDatabase(url: string, other: string): boolean {
  const [file, otherFile] = [sqliteFile(url), sqliteFile(other)];
  if (file !== undefined || otherFile !== undefined) {
    return file !== undefined && otherFile !== undefined && realPath(file) === realPath(otherFile);
  }
  return placeOf(url) === placeOf(other);
}

function realPath(file: string): string {
  return existsSync(file) ? realpathSync(file) : resolve(file);
}

/** Returns what distinguishes a database from those of other servers, and from other schemas of its own. */
function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  return [searchParams.get('host') ?? hostname, port || '5432', pathname, searchParams.get('options')].join(' ');
}
