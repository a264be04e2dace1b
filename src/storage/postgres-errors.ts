import pg from 'pg';
import type { RepositoryStartError } from './plant-repository.js';
import type { Failure } from './retrying-repository.js';
import { startError, UnusableDatabaseError } from './start-error.js';

export const MISSING_PRIVILEGES =
  'denies this user a privilege that it needs; grant it CREATE on the schema, or, once the tables are there, ' +
  'SELECT and INSERT on plants and SELECT on plant_store_schema';

/**
 * The meaning of the errors of the server, the connection and the driver; the first match counts.
 *
 * - The SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html), or the code of a system or OpenSSL
 *   error, or the message of an error without a code.
 * - How it is handled. A `race` is lost to another instance that creates the same tables: the start tries again.
 * - For the operator when the start fails; completes "the database postgres://… …".
 */
const ERRORS: readonly (readonly [code: RegExp, failure: Failure | 'race', atStart?: string])[] = [
  [/^28|^SASL/, 'unavailable', 'rejects this user; check user and password in DATABASE_URL, and pg_hba.conf'],
  [/^3D/, 'unavailable', 'does not exist on its server; create it first, for example with createdb'],
  [/^42501/, 'unavailable', MISSING_PRIVILEGES],
  [
    /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/,
    'unavailable',
    'cannot be reached over TLS; check sslmode and sslrootcert in DATABASE_URL, and the certificate of the server',
  ],
  // A standby: after a failover, a new connection may reach the primary.
  [/^25006/, 'transient', 'is read-only; name the primary server'],
  [/^53300/, 'transient', 'has no connection left; raise max_connections of its server'],
  // The server lacks resources, starts, stops or cancels a statement; a lock or an idle transaction timed out.
  [/^(?:53|57|55P03|25P03)/, 'transient'],
  // A conflict with another transaction.
  [/^40/, 'transient'],
  // The connection failed. PgBouncer reports all its errors as 08P01; distributed engines an unreachable node as XX000.
  [/^(?:08|XX000)/, 'transient'],
  // The server cannot use its disk, or its data are damaged.
  [/^(?:58|XX)/, 'unavailable'],
  [/^(?:23505|42P07|42710)/, 'race'],
];

/** Returns how the repository handles an error. */
export function postgresFailure(error: unknown): Failure | undefined {
  const failure = failureOf(error);
  return failure === 'race' ? undefined : failure;
}

/** Returns whether the start may succeed after this error when it tries again. */
export function mayPassAtStart(error: unknown): boolean {
  const failure = failureOf(error);
  return failure === 'race' || failure === 'transient';
}

/** Makes the line for the operator; it names the database as the URL does, without user and password. */
export function postgresStartError(url: string, error: unknown): RepositoryStartError {
  const { protocol, host, pathname } = new URL(url);
  const unknown = `cannot be reached or used (${codeOf(error)}); check its server and DATABASE_URL`;
  return startError(`${protocol}//${host}${pathname}`, error, entryOf(error)?.[2] ?? unknown);
}

function failureOf(error: unknown): Failure | 'race' | undefined {
  return entryOf(error)?.[1] ?? (isOfConnection(error) ? 'transient' : undefined);
}

function entryOf(error: unknown): (typeof ERRORS)[number] | undefined {
  const code = codeOf(error);
  return ERRORS.find(([pattern]) => pattern.test(code));
}

/** Returns whether an error without an entry comes from the connection: not from the server, and not from the program. */
function isOfConnection(error: unknown): boolean {
  return ![pg.DatabaseError, UnusableDatabaseError, TypeError, RangeError].some((type) => error instanceof type);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
