import pg from 'pg';
import type { RepositoryStartError } from './plant-repository.js';
import type { Failure } from './retrying-repository.js';
import { startError, UnusableDatabaseError } from './start-error.js';

/** The meaning of an error of the server, the connection or the driver. */
interface PostgresError {
  /** Matches the SQLSTATE, or the code of a system or OpenSSL error, or the message of an error without a code. */
  readonly code: RegExp;
  /** A `race` is lost to another instance that creates the same tables: the start tries again. */
  readonly failure: Failure | 'race';
  /** For the operator when the start fails; completes "the database postgres://… …". */
  readonly atStart?: string;
}

export const MISSING_PRIVILEGES =
  'does not let this user do what is needed; grant it CREATE on the schema, or, once the tables are there, ' +
  'SELECT and INSERT on plants and SELECT on plant_store_schema';

/** The first match counts. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const ERRORS: readonly PostgresError[] = [
  // The connection failed. PgBouncer reports all errors of its own as 08P01.
  { code: /^08/, failure: 'transient' },
  { code: /^(?:23505|42P07|42710)/, failure: 'race' },
  // A standby: after a failover, a new connection may reach the primary.
  { code: /^25006/, failure: 'transient', atStart: 'is read-only; name the primary server' },
  // The server closed an idle transaction.
  { code: /^25P03/, failure: 'transient' },
  {
    code: /^28|^SASL/,
    failure: 'unavailable',
    atStart: 'does not let this user in; check user and password in DATABASE_URL, and pg_hba.conf',
  },
  {
    code: /^3D/,
    failure: 'unavailable',
    atStart: 'does not exist on its server; create it first, for example with createdb',
  },
  // Serialization failures and deadlocks.
  { code: /^40/, failure: 'transient' },
  { code: /^42501/, failure: 'unavailable', atStart: MISSING_PRIVILEGES },
  { code: /^53300/, failure: 'transient', atStart: 'has no connection left; raise max_connections of its server' },
  { code: /^53/, failure: 'transient' },
  { code: /^55P03/, failure: 'transient' },
  // The server starts, shuts down, or cancels a statement.
  { code: /^57/, failure: 'transient' },
  { code: /^58/, failure: 'unavailable' },
  // Distributed engines report a node that they cannot reach as XX000.
  { code: /^XX000/, failure: 'transient' },
  { code: /^XX/, failure: 'unavailable' },
  {
    code: /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/,
    failure: 'unavailable',
    atStart:
      'cannot be reached over TLS; check sslmode and sslrootcert in DATABASE_URL, and the certificate of the server',
  },
];

/** Tells how the repository handles an error. */
export function postgresFailure(error: unknown): Failure | undefined {
  const failure = failureOf(error);
  return failure === 'race' ? undefined : failure;
}

/** Tells if a statement failed for another transaction, which says nothing against its connection. */
export function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && codeOf(error).startsWith('40');
}

/** Tells if the start may succeed after this error when it tries again. */
export function mayPassAtStart(error: unknown): boolean {
  const failure = failureOf(error);
  return failure === 'race' || failure === 'transient';
}

/** Makes the line for the operator; it names the database as the URL does, without user and password. */
export function postgresStartError(url: string, error: unknown): RepositoryStartError {
  const { protocol, host, pathname } = new URL(url);
  const advice = entryOf(error)?.atStart;
  return startError(
    `${protocol}//${host}${pathname}`,
    error,
    advice ?? `cannot be reached or used (${codeOf(error)}); check its server and DATABASE_URL`,
  );
}

function failureOf(error: unknown): PostgresError['failure'] | undefined {
  return entryOf(error)?.failure ?? (isOfConnection(error) ? 'transient' : undefined);
}

function entryOf(error: unknown): PostgresError | undefined {
  const code = codeOf(error);
  return ERRORS.find((entry) => entry.code.test(code));
}

/** Tells if an error without an entry comes from the connection: not from the server, and not from the program. */
function isOfConnection(error: unknown): boolean {
  return ![pg.DatabaseError, UnusableDatabaseError, TypeError, RangeError].some((type) => error instanceof type);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
