import pg from 'pg';
import { messageOf, startError, UnusableDatabaseError } from './errors.js';
import type { RepositoryStartError } from './plant-repository.js';
import { POSTGRES } from './postgres-engine.js';
import type { Failure } from './retry.js';

/** An error of the server, the connection or the driver. */
interface KnownError {
  /**
   * Matches the SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html), the code of a system or
   * OpenSSL error, or the message of an error without a code.
   */
  readonly pattern: RegExp;
  /** For the operator; completes "the database postgres://… …". */
  readonly advice?: string;
}

export const MISSING_PRIVILEGES =
  'denies this user a privilege that it needs; grant it CREATE on the schema, or, once the tables are there, ' +
  'SELECT and INSERT on plants and SELECT on plant_store_schema';

/** A table, a schema, a column or the primary key is missing. */
const MISSING_TABLE =
  'lacks a table as the service created it; undo the change of plants or plant_store_schema, check search_path, or ' +
  'restore a backup';

/** The id of a plant was taken, but its plant was gone before the look-up. */
export const VANISHED = 'another program deletes plants';

/** The driver gives up a statement with an error that has this message and no code. */
const UNANSWERED = 'Query read timeout';

const UNAVAILABLE: readonly KnownError[] = [
  {
    pattern: /^28|^SASL/,
    advice: 'rejects this user; check user and password in its URL, both percent-encoded, and pg_hba.conf',
  },
  { pattern: /^3D/, advice: 'does not exist on its server; create it first, for example with createdb' },
  { pattern: /^55000/, advice: 'accepts no connections; run ALTER DATABASE … ALLOW_CONNECTIONS true' },
  { pattern: /^42501/, advice: MISSING_PRIVILEGES },
  { pattern: /^(?:42P01|3F000|42703|42P10)/, advice: MISSING_TABLE },
  {
    pattern: /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/,
    advice: 'cannot be reached over TLS; check sslmode and sslrootcert in its URL, and the certificate of the server',
  },
  { pattern: /^53100/, advice: 'has no room left on the disk of its server; free some' },
  {
    pattern: /^(?:58|XX00[12])/,
    advice: 'is damaged, or its server cannot use its disk; read the log of the server',
  },
];

const TRANSIENT: readonly KnownError[] = [
  // A standby: after a failover, a new connection may reach the primary.
  { pattern: /^25006/, advice: 'is read-only; name the primary server' },
  { pattern: /^53300/, advice: 'has no connection left; raise max_connections of its server' },
  { pattern: /^53200/, advice: 'has no memory left on its server; free some' },
  {
    pattern: /^(?:57014|55P03)/,
    advice: 'does not execute statements in time; look at pg_locks for what locks plants or plant_store_schema',
  },
  {
    pattern: new RegExp(`^${UNANSWERED}`),
    advice: 'does not answer in time; check its server, the network, and the synchronous standbys',
  },
  { pattern: new RegExp(`^${VANISHED}`) },
  // The server lacks resources, starts or stops; an idle or a long transaction timed out.
  { pattern: /^(?:53|57|25P03|25P04)/ },
  // A conflict with another transaction.
  { pattern: /^40/ },
  // The connection failed. PgBouncer reports all its errors as 08P01; distributed engines an unreachable node as XX000.
  { pattern: /^(?:08|XX000)/ },
];

/** Lost to another instance that creates the same tables. */
const LOST_RACE = /^(?:23505|42P07|42710)/;

/** Only the statement failed: a wrong value, a conflict, a missing table, a full disk, a lock. */
const STATEMENT_FAILED = /^(?:22|23|40|42|53100|55P03|57014)/;

/** Returns how the repository handles an error; undefined for a defect. */
export function postgresFailure(error: unknown): Failure | undefined {
  if (find(UNAVAILABLE, error) !== undefined) return 'unavailable';
  return find(TRANSIENT, error) !== undefined || isConnectionError(error) ? 'transient' : undefined;
}

/** Returns whether the start may succeed after this error when it tries again. */
export function mayPassAtStart(error: unknown): boolean {
  return postgresFailure(error) === 'transient' || LOST_RACE.test(codeOf(error));
}

/** Returns whether the connection can run another transaction after an error of a transaction. */
export function isConnectionUsableAfter(error: unknown): boolean {
  return error instanceof pg.DatabaseError && STATEMENT_FAILED.test(codeOf(error));
}

/** Returns whether the server may still execute the statement that failed. */
export function isUnanswered(error: unknown): boolean {
  return codeOf(error) === UNANSWERED;
}

/** Explains an error in the log of a running service. */
export function describePostgresError(error: unknown): string {
  const advice = adviceOn(error);
  return advice === undefined ? messageOf(error) : `it ${advice} (${messageOf(error)})`;
}

/** Makes the line for the operator; it names the database as the URL does, without user and password. */
export function postgresStartError(url: string, error: unknown): RepositoryStartError {
  const unknown = `cannot be reached or used (${codeOf(error)}); check its server and its URL`;
  return startError(POSTGRES.nameOf(url), error, adviceOn(error) ?? unknown);
}

function adviceOn(error: unknown): string | undefined {
  return find([...UNAVAILABLE, ...TRANSIENT], error)?.advice;
}

/** The first match counts. */
function find(errors: readonly KnownError[], error: unknown): KnownError | undefined {
  const code = codeOf(error);
  return errors.find(({ pattern }) => pattern.test(code));
}

/** Returns whether an error without an entry comes from the connection, and not from the server or the program. */
function isConnectionError(error: unknown): boolean {
  return ![pg.DatabaseError, UnusableDatabaseError, TypeError, RangeError].some((type) => error instanceof type);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
