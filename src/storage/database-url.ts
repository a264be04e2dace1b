import { isLoopbackHost } from '../loopback-host.js';

/**
 * The parameters that a PostgreSQL URL may have, and their values. The driver would take any other parameter for a setting
 * of its own. The modes are those of libpq without `allow` and `prefer`, which let an attacker on the network disable TLS.
 */
const POSTGRES_PARAMETERS: Readonly<Record<string, RegExp>> = {
  application_name: /./,
  // The directory of a Unix socket.
  host: /^\//,
  options: /./,
  sslcert: /./,
  sslkey: /./,
  sslmode: /^(?:disable|require|verify-ca|verify-full)$/,
  sslrootcert: /./,
};

/** Completes "a URL must be …" in a message. */
export const DATABASE_URL_RULE =
  'a URL that begins with sqlite: and a path, or with postgres://, where user and password are percent-encoded ' +
  '(p@ss is p%40ss), sslmode is disable, require, verify-ca (with sslrootcert) or verify-full, and other parameters are ' +
  'application_name, host, options, sslcert, sslkey, sslrootcert alone, ' +
  'for example sqlite:data/plants.db or postgres://user@localhost/plants';

/** Completes "the URL must have …" in a message. */
export const SSL_MODE_RULE =
  'sslmode, because it names no server on this machine: verify-full, with sslrootcert for an authority of your own; or ' +
  'disable in a network where nobody can read passwords, for example postgres://user@db.example.com/plants?sslmode=verify-full';

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
  /** True if it names a server on another machine, and does not say whether passwords travel in clear text. */
  readonly lacksSslMode: boolean;
}

/** The URL of a database of one of the engines. */
export type DatabaseUrl = SqliteUrl | PostgresUrl;

export function isInMemory(url: DatabaseUrl): boolean {
  return url.engine === 'sqlite' && url.file === undefined;
}

/** Returns undefined for a text that breaks DATABASE_URL_RULE. */
export function parseDatabaseUrl(text: string): DatabaseUrl | undefined {
  return parseSqliteUrl(text) ?? parsePostgresUrl(text);
}

/** @param path of the database, or `:memory:` */
export function sqliteUrl(path: string): SqliteUrl {
  return { engine: 'sqlite', name: `sqlite:${path}`, file: path === ':memory:' ? undefined : path };
}

/**
 * Matches `sqlite:` and a path. `sqlite://data/plants.db` has none: `data` would be a host (RFC 3986 §3.2), but its writer
 * means a relative path, and the absolute one may be outside the volume.
 */
const SQLITE_URL = /^sqlite:(?!\/\/[^/])(\S.*)$/;

function parseSqliteUrl(text: string): SqliteUrl | undefined {
  // Spaces at the end are a slip. They would name another file than the operator sees.
  const path = SQLITE_URL.exec(text)?.[1]?.trimEnd() ?? '';
  const isDirectory = path.endsWith('/');
  return path === '' || isDirectory ? undefined : sqliteUrl(path);
}

/**
 * Matches a URL with at most one @, which ends user and password (RFC 3986 §3.2.1). A / ? or # in a password, as in
 * `postgres://u:p/w@host`, would end the host: the client would look for the server `u`.
 */
const POSTGRES_URL = /^postgres(?:ql)?:\/\/(?:[^/?#@]*@)?[^#@]*$/;

/** Returns undefined, too, for a URL that the driver and an operator would read differently. */
function parsePostgresUrl(text: string): PostgresUrl | undefined {
  if (!POSTGRES_URL.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, username, password, host, hostname, pathname, searchParams } = new URL(text);
  if (![username, password, hostname, pathname].every(canDecode) || !areParameters(searchParams)) return undefined;
  const isSocket = searchParams.has('host') || hostname.toLowerCase().startsWith('%2f');
  return {
    engine: 'postgres',
    name: `${protocol}//${host}${pathname}`,
    href: text,
    lacksSslMode: !isSocket && !isLoopbackHost(hostname) && !searchParams.has('sslmode'),
  };
}

function areParameters(found: URLSearchParams): boolean {
  const parameters = [...found];
  return (
    parameters.every(
      ([name, value]) => Object.hasOwn(POSTGRES_PARAMETERS, name) && POSTGRES_PARAMETERS[name]?.test(value) === true,
    ) &&
    // The driver takes the last value of a repeated parameter.
    new Set(found.keys()).size === parameters.length &&
    (found.get('sslmode') !== 'verify-ca' || found.has('sslrootcert'))
  );
}

function canDecode(text: string): boolean {
  try {
    // The result is used, because Rolldown 1.2 removes a call whose result is not.
    return decodeURIComponent(text).length <= text.length;
  } catch {
    return false;
  }
}
