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

/** Returns whether a URL names a database of one of the engines. */
export function isDatabaseUrl(url: string): boolean {
  return isSqliteUrl(url) || isPostgresUrl(url);
}

/** Returns the URL of a database for an operator, without user, password and parameters. */
export function databaseName(url: string): string {
  return isSqliteUrl(url) ? url : postgresName(url);
}

/**
 * Returns whether a URL names a SQLite database: in memory, or by a path. `sqlite://data/plants.db` does not: `data` would
 * be a host (RFC 3986 §3.2), but its writer means a relative path, and the absolute one may be outside the volume. A path
 * that ends with a slash names a directory.
 */
export function isSqliteUrl(url: string): boolean {
  return /^sqlite:(?!\/\/[^/])\S.*$/.test(url) && !url.trimEnd().endsWith('/');
}

/** Returns whether a URL names a SQLite database in memory, which ends with its process. */
export function isInMemory(url: string): boolean {
  return url.trimEnd() === 'sqlite::memory:';
}

/** Returns the path in a SQLite URL; undefined for a database in memory, and for another URL. */
export function sqliteFile(url: string): string | undefined {
  if (!isSqliteUrl(url) || isInMemory(url)) return undefined;
  // Spaces at the end are a slip. They would name another file than the operator sees.
  return url.slice('sqlite:'.length).trimEnd();
}

/**
 * Matches a URL with at most one @, which ends user and password (RFC 3986 §3.2.1). A / ? or # in a password, as in
 * `postgres://u:p/w@host`, would end the host: the client would look for the server `u`.
 */
const POSTGRES_URL = /^postgres(?:ql)?:\/\/(?:[^/?#@]*@)?[^#@]*$/;

/** Returns whether a URL names a PostgreSQL database, in a way that the driver and an operator read alike. */
export function isPostgresUrl(url: string): boolean {
  if (!POSTGRES_URL.test(url) || !URL.canParse(url)) return false;
  const { username, password, hostname, pathname, searchParams } = new URL(url);
  const parameters = [...searchParams];
  return (
    [username, password, hostname, pathname].every(canDecode) &&
    parameters.every(([name, value]) => POSTGRES_PARAMETERS[name]?.test(value) === true) &&
    // The driver takes the last value of a repeated parameter.
    new Set(searchParams.keys()).size === parameters.length &&
    (searchParams.get('sslmode') !== 'verify-ca' || searchParams.has('sslrootcert'))
  );
}

/** Returns whether a URL names a server on another machine, and does not say whether passwords travel in clear text. */
export function lacksSslMode(url: string): boolean {
  if (!isPostgresUrl(url)) return false;
  const { hostname, searchParams } = new URL(url);
  const isSocket = searchParams.has('host') || hostname.toLowerCase().startsWith('%2f');
  return !isSocket && !isLoopbackHost(hostname) && !searchParams.has('sslmode');
}

/** Returns the URL of a PostgreSQL database without user, password and parameters. */
export function postgresName(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function canDecode(text: string): boolean {
  try {
    // The result is used, because Rolldown 1.2 removes a call whose result is not.
    return decodeURIComponent(text).length <= text.length;
  } catch {
    return false;
  }
}
