import { isLoopbackHost } from '../loopback-host.js';

/**
 * The parameters of a PostgreSQL URL, and their values. The driver would take any other one for a setting of its own. The
 * modes are those of libpq without `allow` and `prefer`, which let an attacker on the network disable TLS.
 */
const POSTGRES_PARAMETERS: Readonly<Record<string, RegExp>> = {
  application_name: /./,
  // A socket's directory.
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
 * Returns whether a URL names a SQLite database: in memory, or by a path. With two slashes, the first name would be that of
 * a host (RFC 3986 §3.2), and a relative path is meant: taken as an absolute one, it would be outside the volume. With a
 * slash at its end, it is that of a directory.
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
  // Spaces at the end are a slip, and would name another file than the operator sees.
  return url.slice('sqlite:'.length).trimEnd();
}

/**
 * A URL with at most one @, which ends user and password (RFC 3986 §3.2.1). In a password, an @ is ambiguous, and one of
 * / ? # would end the host: the client would look for another server, and name a part of the password as its host.
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
    // Of a repeated one, the driver takes the last value.
    new Set(searchParams.keys()).size === parameters.length &&
    (searchParams.get('sslmode') !== 'verify-ca' || searchParams.has('sslrootcert'))
  );
}

/** Returns whether a URL names no server on this machine, and leaves it open whether a password travels in clear text. */
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
    // Uses the result, without which Rolldown 1.2 removes the call.
    return decodeURIComponent(text).length <= text.length;
  } catch {
    return false;
  }
}
