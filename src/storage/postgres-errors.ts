import pg from 'pg';
import { databaseName } from './engines.js';
import { messageOf } from './message-of.js';
import type { RepositoryStartError } from './plant-repository.js';
import type { Failure } from './retry.js';
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
 * - For the operator; completes "the database postgres://… …".
 */
const ERRORS: readonly (readonly [code: RegExp, failure: Failure | 'race', advice?: string])[] = [
  [
    /^28|^SASL/,
    'unavailable',
    'rejects this user; check user and password in its URL, both percent-encoded, and pg_hba.conf',
  ],
  [/^3D/, 'unavailable', 'does not exist on its server; create it first, for example with createdb'],
  [/^55000/, 'unavailable', 'accepts no connections; run ALTER DATABASE … ALLOW_CONNECTIONS true'],
  [/^42501/, 'unavailable', MISSING_PRIVILEGES],
  // A table, a schema, a column or the primary key is missing.
  [
    /^(?:42P01|3F000|42703|42P10)/,
    'unavailable',
    'lacks a table as the service created it; undo the change of plants or plant_store_schema, check search_path, or ' +
      'restore a backup',
  ],
  [
    /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/,
    'unavailable',
    'cannot be reached over TLS; check sslmode and sslrootcert in its URL, and the certificate of the server',
  ],
  // A standby: after a failover, a new connection may reach the primary.
  [/^25006/, 'transient', 'is read-only; name the primary server'],
  [/^53300/, 'transient', 'has no connection left; raise max_connections of its server'],
  [/^53100/, 'unavailable', 'has no room left on the disk of its server; free some'],
  [/^53200/, 'transient', 'has no memory left on its server; free some'],
  [
    /^(?:57014|55P03)/,
    'transient',
    'does not execute statements in time; look at pg_locks for what locks plants or plant_store_schema',
  ],
  // The server lacks resources, starts or stops; an idle or a long transaction timed out.
  [/^(?:53|57|25P03|25P04)/, 'transient'],
  // A conflict with another transaction.
  [/^40/, 'transient'],
  // The connection failed. PgBouncer reports all its errors as 08P01; distributed engines an unreachable node as XX000.
  [/^(?:08|XX000)/, 'transient'],
  // The server cannot use its disk, or its data are damaged.
  [/^(?:58|XX)/, 'unavailable', 'is damaged, or its server cannot use its disk; read the log of the server'],
  [/^(?:23505|42P07|42710)/, 'race'],
];

/** Only the statement failed: a wrong value, a conflict, a missing table, a full disk, a lock. */
const STATEMENT_FAILED = /^(?:22|23|40|42|53100|55P03|57014)/;

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

/** Returns whether the connection can run another transaction after an error of a transaction. */
export function isConnectionUsableAfter(error: unknown): boolean {
  return error instanceof pg.DatabaseError && STATEMENT_FAILED.test(codeOf(error));
}

/**
 * Returns whether INSERT … ON CONFLICT may succeed where COPY has failed: an id is stored, or the table allows no COPY,
 * for example because of row-level security.
 */
export function mayBeInserted(error: unknown): boolean {
  return ['23505', '0A000'].includes(codeOf(error));
}

/** Explains an error in the log of a running service: with advice for the operator, if there is some. */
export function describePostgresError(error: unknown): string {
  const advice = entryOf(error)?.[2];
  return advice === undefined ? messageOf(error) : `it ${advice} (${messageOf(error)})`;
}

/** Makes the line for the operator; it names the database as the URL does, without user and password. */
export function postgresStartError(url: string, error: unknown): RepositoryStartError {
  const unknown = `cannot be reached or used (${codeOf(error)}); check its server and its URL`;
  return startError(databaseName(url), error, entryOf(error)?.[2] ?? unknown);
}

function failureOf(error: unknown): Failure | 'race' | undefined {
  return entryOf(error)?.[1] ?? (isConnectionError(error) ? 'transient' : undefined);
}

function entryOf(error: unknown): (typeof ERRORS)[number] | undefined {
  const code = codeOf(error);
  return ERRORS.find(([pattern]) => pattern.test(code));
}

/** Returns whether an error without an entry comes from the connection, and not from the server or the program. */
function isConnectionError(error: unknown): boolean {
  return ![pg.DatabaseError, UnusableDatabaseError, TypeError, RangeError].some((type) => error instanceof type);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
