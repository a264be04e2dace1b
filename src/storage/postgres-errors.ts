import pg from 'pg';
import type { OperatorError } from '../contract/operator-error.js';
import { messageOf, startError, UnusableDatabaseError } from './errors.js';
import { POSTGRES } from './postgres-engine.js';
import type { Failure } from './retry.js';

/** The driver gives up a statement with an error that has this message and no code. */
const UNANSWERED = 'Query read timeout';

/**
 * An error of the server, the connection or the driver. The pattern matches the SQLSTATE
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html), the code of a system or OpenSSL error, or the message
 * of an error without a code. The advice for the operator completes "the database postgres://… …".
 */
type KnownError = readonly [pattern: RegExp, advice?: string];

const UNAVAILABLE: readonly KnownError[] = [
  [/^28|^SASL/, 'rejects this user; check user and password in its URL, both percent-encoded, and pg_hba.conf'],
  [/^3D/, 'does not exist on its server; create it first, for example with createdb'],
  [/^55000/, 'accepts no connections; run ALTER DATABASE … ALLOW_CONNECTIONS true'],
  [
    /^42501/,
    'denies this user a privilege that it needs; grant it CREATE on the schema, or, once the tables are there, SELECT ' +
      'and INSERT on plants and SELECT on plant_store_schema',
  ],
  [/^3F000/, 'has none of the schemas in search_path; create one with CREATE SCHEMA'],
  // A table, a column or the primary key is missing.
  [
    /^(?:42P01|42703|42P10)/,
    'lacks a table as the service created it; undo the change of plants or plant_store_schema, check search_path, or ' +
      'restore a backup',
  ],
  [/^22P05/, "has an encoding that cannot hold every text; create it with ENCODING 'UTF8'"],
  [
    /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/,
    'cannot be reached over TLS; check sslmode and sslrootcert in its URL, and the certificate of the server',
  ],
  [/^53100/, 'has no room left on the disk of its server; free some'],
  [/^(?:58|XX00[12])/, 'is damaged, or its server cannot use its disk; read the log of the server'],
];

const TRANSIENT: readonly KnownError[] = [
  // A standby: after a failover, a new connection may reach the primary.
  [/^25006/, 'is read-only; name the primary server'],
  [/^53300/, 'has no connection left; raise max_connections of its server'],
  [/^53200/, 'has no memory left on its server; free some'],
  [
    /^(?:57014|55P03)/,
    'does not execute statements in time; look at pg_locks for what locks plants or plant_store_schema',
  ],
  [
    new RegExp(`^${UNANSWERED}`),
    'does not answer in time; check its server, the network, and the synchronous standbys',
  ],
  // Citus.
  [
    /^08006/,
    'cannot reach another server of its cluster; check that it runs, and that the servers authenticate to one another ' +
      'as this user',
  ],
  // The server lacks resources, starts or stops; a conflict with another transaction; the connection failed. PgBouncer
  // reports all its errors as 08P01; distributed engines an unreachable node as XX000.
  [/^(?:08|25P03|25P04|40|53|57|XX000)/],
];

/** A plant does not fit the table, which at the start shows that another program made it. */
const MISFIT = /^(?:22(?!P05)|23|42703|42804|42P10)/;

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
export function postgresStartError(url: string, error: unknown): OperatorError {
  const unknown = `cannot be reached or used (${codeOf(error)}); check its server and its URL`;
  return startError(POSTGRES.nameOf(url), error, startAdviceOn(error) ?? unknown);
}

function startAdviceOn(error: unknown): string | undefined {
  if (MISFIT.test(codeOf(error))) return otherTable(messageOf(error));
  if (isOfFile(error)) return `cannot be reached: a file of its URL cannot be read (${messageOf(error)})`;
  return adviceOn(error);
}

/** Completes "the database postgres://… …". */
export function otherTable(reason: string): string {
  return (
    `has a table of another program: ${reason}; create a schema for the service's tables, and name it in the URL: ` +
    '?options=-csearch_path=plant_store'
  );
}

function adviceOn(error: unknown): string | undefined {
  return find([...UNAVAILABLE, ...TRANSIENT], error)?.[1];
}

/** The first match counts. */
function find(errors: readonly KnownError[], error: unknown): KnownError | undefined {
  const code = codeOf(error);
  return errors.find(([pattern]) => pattern.test(code));
}

/** Returns whether an error without an entry comes from the connection, and not from the server, a file or the program. */
function isConnectionError(error: unknown): boolean {
  const others = [pg.DatabaseError, UnusableDatabaseError, TypeError, RangeError];
  return !isOfFile(error) && !others.some((type) => error instanceof type);
}

/** Returns whether a file of sslrootcert, sslcert or sslkey cannot be read. */
function isOfFile(error: unknown): boolean {
  return (Object(error) as NodeJS.ErrnoException).syscall === 'open';
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
