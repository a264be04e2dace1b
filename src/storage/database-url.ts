import { isLoopbackHost } from '../loopback-host.js';
import { OperatorError } from '../operator-error.js';

/** Completes "a database URL …" in a message. */
const DATABASE_URL_RULE =
  'must be a URL that begins with sqlite: and a path without //, or with postgres://, where user and password are percent-encoded ' +
  '(p@ss is p%40ss), for example sqlite:data/plants.db or postgres://user@localhost/plants';

/** Completes "a database URL …" in a message, if `hasRequiredSslMode` is false. */
const SSL_MODE_RULE =
  'must have sslmode, because it names no server on this machine: verify-full, with sslrootcert for an authority of your own; ' +
  'require, which does not verify the server; or disable in a network where nobody can read passwords, ' +
  'for example postgres://user@db.example.com/plants?sslmode=verify-full';

/** The URL of a SQLite database. */
export interface SqliteUrl {
  readonly engine: 'sqlite';
  /** Names the database to an operator. */
  readonly name: string;
  /** The path of the database; undefined for a database in memory, which ends with its process. */
  readonly file: string | undefined;
}

/** The URL of a PostgreSQL database. */
export interface PostgresUrl {
  readonly engine: 'postgres';
  /** Names the database to an operator: the URL without user, password and parameters. */
  readonly name: string;
  /** The whole URL, for the driver. */
  readonly href: string;
}

/** The URL of a database of one of the engines. */
export type DatabaseUrl = SqliteUrl | PostgresUrl;

/**
 * Reads a URL. Spaces around it are a slip.
 *
 * @throws {OperatorError} with a message that completes "a database URL …"
 */
export function readDatabaseUrl(text: string): DatabaseUrl {
  const url = parseSqliteUrl(text.trim()) ?? parsePostgresUrl(text.trim());
  if (url === undefined) throw new OperatorError(DATABASE_URL_RULE);
  if (url.engine === 'postgres' && !hasRequiredSslMode(url)) throw new OperatorError(SSL_MODE_RULE);
  return url;
}

/** @param path of the database, or `:memory:` */
export function sqliteUrl(path: string): SqliteUrl {
  return { engine: 'sqlite', name: `sqlite:${path}`, file: path === ':memory:' ? undefined : path };
}

/**
 * Matches `sqlite:` and a path, which must not end with a slash. `sqlite://data/plants.db` has none: `data` would be a
 * host (RFC 3986 §3.2), but its writer means a relative path, and the absolute one may be outside the volume.
 */
const SQLITE_URL = /^sqlite:(?!\/\/[^/])(\S.*)(?<!\/)$/;

function parseSqliteUrl(text: string): SqliteUrl | undefined {
  const path = SQLITE_URL.exec(text)?.[1];
  return path === undefined ? undefined : sqliteUrl(path);
}

/**
 * Matches a URL with at most one @, which ends user and password (RFC 3986 §3.2.1). A / ? or # in a password, as in
 * `postgres://u:p/w@host`, would end the host: the client would look for the server `u`, and messages would have the
 * rest.
 */
const POSTGRES_URL = /^postgres(?:ql)?:\/\/(?:[^/?#@]*@)?[^#@]*$/;

function parsePostgresUrl(text: string): PostgresUrl | undefined {
  if (!POSTGRES_URL.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, host, pathname } = new URL(text);
  return { engine: 'postgres', name: `${protocol}//${host}${pathname}`, href: text };
}

/**
 * Returns false for a server on another machine whose URL has no sslmode: the driver would send the password in clear
 * text. The other parameters are the driver's.
 */
function hasRequiredSslMode({ href }: PostgresUrl): boolean {
  const { hostname, searchParams } = new URL(href);
  // For the driver, too, the parameter replaces the host. A path is the directory of a Unix socket.
  const server = searchParams.get('host') ?? hostname;
  const isLocal = isLoopbackHost(server) || /^(?:\/|%2f|$)/i.test(server);
  return isLocal || Boolean(searchParams.get('sslmode'));
}
