import pg from 'pg';
import type { OperatorError } from '../operator-error.js';
import { postgresName } from './engines.js';
import { type Failure, messageOf, startError, UnusableDatabaseError } from './errors.js';

/** The driver gives up a statement with an error that has this message and no code. */
const UNANSWERED = 'Query read timeout';

/** An error of the server, the connection or the driver. */
interface KnownError {
  /**
   * Matches the SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html), the code of a system or OpenSSL
   * error, or the message of an error without a code.
   */
  readonly code: RegExp;
  /** How the repository handles it; without a value, it is a defect. */
  readonly failure?: Failure;
  /** For the operator; it completes "the database postgres://… …". */
  readonly advice?: string;
  /** A plant does not fit the table, which at the start shows that another program made it. */
  readonly isMisfit?: boolean;
  /** Another instance that creates the same tables was faster. */
  readonly isLostRace?: boolean;
  /** Only the statement failed: the connection can run another transaction. */
  readonly keepsConnection?: boolean;
}

const LACKS_TABLE =
  'lacks a table as the service created it; undo the change of plants or plant_store_schema, check search_path, or ' +
  'restore a backup';

/** The first match counts. */
const KNOWN_ERRORS: readonly KnownError[] = [
  {
    code: /^28|^SASL/,
    failure: 'unavailable',
    advice: 'rejects this user; check user and password in its URL, both percent-encoded, and pg_hba.conf',
  },
  {
    code: /^3D/,
    failure: 'unavailable',
    advice: 'does not exist on its server; create it first, for example with createdb',
  },
  {
    code: /^55000/,
    failure: 'unavailable',
    advice: 'accepts no connections; run ALTER DATABASE … ALLOW_CONNECTIONS true',
  },
  {
    code: /^42501/,
    failure: 'unavailable',
    advice:
      'denies this user a privilege that it needs; grant it CREATE on the schema, or, once the tables are there, SELECT ' +
      'and INSERT on plants and SELECT on plant_store_schema',
    keepsConnection: true,
  },
  {
    code: /^3F000/,
    failure: 'unavailable',
    advice: 'has none of the schemas in search_path; create one with CREATE SCHEMA',
  },
  {
    // A table is missing.
    code: /^42P01/,
    failure: 'unavailable',
    advice: LACKS_TABLE,
    keepsConnection: true,
  },
  {
    // A column or the primary key is missing.
    code: /^(?:42703|42P10)/,
    failure: 'unavailable',
    advice: LACKS_TABLE,
    isMisfit: true,
    keepsConnection: true,
  },
  {
    code: /^22P05/,
    failure: 'unavailable',
    advice: "has an encoding that cannot hold every text; create it with ENCODING 'UTF8'",
    keepsConnection: true,
  },
  {
    code: /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SSL connection/,
    failure: 'unavailable',
    advice: 'cannot be reached over TLS; check sslmode and sslrootcert in its URL, and the certificate of the server',
  },
  {
    code: /^53100/,
    failure: 'unavailable',
    advice: 'has no room left on the disk of its server; free some',
    keepsConnection: true,
  },
  {
    code: /^(?:58|XX00[12])/,
    failure: 'unavailable',
    advice: 'is damaged, or its server cannot use its disk; read the log of the server',
  },
  {
    // A standby: after a failover, a new connection may reach the primary.
    code: /^25006/,
    failure: 'transient',
    advice: 'is read-only; name the primary server',
  },
  {
    code: /^53300/,
    failure: 'transient',
    advice: 'has no connection left; raise max_connections of its server',
  },
  {
    code: /^53200/,
    failure: 'transient',
    advice: 'has no memory left on its server; free some',
  },
  {
    code: /^(?:57014|55P03)/,
    failure: 'transient',
    advice: 'does not execute statements in time; look at pg_locks for what locks plants or plant_store_schema',
    keepsConnection: true,
  },
  {
    code: new RegExp(`^${UNANSWERED}`),
    failure: 'transient',
    advice: 'does not answer in time; check its server, the network, and the synchronous standbys',
  },
  {
    code: /^PLANT_DELETED/,
    failure: 'transient',
    advice: 'loses plants to another program; stop what deletes them',
  },
  {
    // Citus.
    code: /^08006/,
    failure: 'transient',
    advice:
      'cannot reach another server of its cluster; check that it runs, and that the servers authenticate to one another ' +
      'as this user',
  },
  // A conflict with another transaction.
  { code: /^40/, failure: 'transient', keepsConnection: true },
  // The server lacks resources, starts or stops, or the connection failed. PgBouncer reports all its errors as 08P01;
  // distributed engines an unreachable node as XX000.
  { code: /^(?:08|25P03|25P04|53|57|XX000)/, failure: 'transient' },
  { code: /^23505/, isLostRace: true, isMisfit: true, keepsConnection: true },
  { code: /^42P07|^42710/, isLostRace: true, keepsConnection: true },
  { code: /^(?:22|23|42804)/, isMisfit: true, keepsConnection: true },
  { code: /^42/, keepsConnection: true },
];

/** A plant was there when another one with its id was inserted, and was deleted before it was read. */
export class PlantDeletedError extends Error {
  override readonly name = 'PlantDeletedError';
  readonly code = 'PLANT_DELETED';

  constructor() {
    super('another program deletes plants');
  }
}

/** Returns how the repository handles an error; undefined for a defect. */
export function postgresFailure(error: unknown): Failure | undefined {
  return find(error)?.failure ?? (isConnectionError(error) ? 'transient' : undefined);
}

/** Returns whether the start may succeed after this error when it tries again. */
export function mayPassAtStart(error: unknown): boolean {
  return postgresFailure(error) === 'transient' || find(error)?.isLostRace === true;
}

/** Returns whether the connection can run another transaction after an error of a transaction. */
export function isConnectionUsableAfter(error: unknown): boolean {
  return error instanceof pg.DatabaseError && find(error)?.keepsConnection === true;
}

/** Returns whether the server may still execute the statement that failed. */
export function isUnanswered(error: unknown): boolean {
  return codeOf(error) === UNANSWERED;
}

/** Explains an error in the log of a running service. */
export function describePostgresError(error: unknown): string {
  const advice = find(error)?.advice;
  return advice === undefined ? messageOf(error) : `it ${advice} (${messageOf(error)})`;
}

/** Makes the line for the operator; it names the database as the URL does, without user and password. */
export function postgresStartError(url: string, error: unknown): OperatorError {
  const unknown = `cannot be reached or used (${codeOf(error)}); check its server and its URL`;
  return startError(postgresName(url), error, startAdviceOn(error) ?? unknown);
}

function startAdviceOn(error: unknown): string | undefined {
  const known = find(error);
  if (known?.isMisfit === true) return otherTable(messageOf(error));
  if (isOfFile(error)) return `cannot be reached: a file of its URL cannot be read (${messageOf(error)})`;
  return known?.advice;
}

/** For an operator whose database has a table plants of another program. */
export const USE_ANOTHER_SCHEMA =
  "create a schema for the service's tables, and name it in the URL: ?options=-csearch_path=plant_store";

/** Completes "the database postgres://… …". */
export function otherTable(reason: string): string {
  return `has a table of another program: ${reason}; ${USE_ANOTHER_SCHEMA}`;
}

function find(error: unknown): KnownError | undefined {
  const code = codeOf(error);
  return KNOWN_ERRORS.find((known) => known.code.test(code));
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
