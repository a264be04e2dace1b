import type { OperatorError } from '../../operator-error.js';
import type { Failure } from '../engine-errors.js';
import { errorMessage, startError, withAdvice } from '../error-messages.js';

/** Advice for an operator whose database has a table plants of another program. */
export const USE_ANOTHER_SCHEMA =
  "if another program made its table plants, create a schema for the service's tables, and name it in the URL: " +
  '?options=-csearch_path=plant_store';

const CHECK_PASSWORD = 'check user and password in its URL, both percent-encoded';

/**
 * The state in which an error leaves its connection:
 *
 * - `idle`: it can be used again. A new connection for each attempt would need more backends.
 * - `unanswered`: the server may still execute its statement, which the client has given up: a commit that waits for a
 *   synchronous standby, which no timeout of the server ends, or a statement on a dead connection. It keeps its place in the
 *   pool, because closing it does not end the statement: each further attempt would leave one more backend.
 * - `closed`: it cannot be used again.
 */
type ConnectionState = 'idle' | 'unanswered' | 'closed';

/** Errors of the server, the connection or the driver. */
interface KnownError {
  /** Matches codes: SQLSTATEs (https://www.postgresql.org/docs/current/errcodes-appendix.html), and those of Node. */
  readonly codes?: RegExp;
  /** Matches the message of an error that has no code. An error with a code is matched by `codes` alone. */
  readonly message?: RegExp;
  /** How the repository handles the error; undefined for a defect. */
  readonly failure?: Failure;
  /** Defaults to `closed`. */
  readonly connection?: ConnectionState;
  /** The next step of an operator, if the message does not show it. */
  readonly advice?: string;
}

/** Single errors, some of which differ from their class below. */
const SINGLE_ERRORS: readonly KnownError[] = [
  {
    // A privilege is missing.
    codes: /^42501/,
    failure: 'unavailable',
    advice:
      'this user needs CREATE on the schema, or, once the tables are there, SELECT and INSERT on plants and SELECT on ' +
      'plant_store_schema',
  },
  // The encoding of the database lacks a character.
  { codes: /^22P05/, failure: 'unavailable', advice: "create the database with ENCODING 'UTF8'" },
  // A column or the primary key is missing.
  { codes: /^(?:42703|42P10)/, failure: 'unavailable', advice: USE_ANOTHER_SCHEMA },
  // A plant does not fit a column.
  { codes: /^42804/, connection: 'idle', advice: USE_ANOTHER_SCHEMA },
  // A trigger has refused a plant with RAISE.
  { codes: /^P0001/, connection: 'idle' },
  // A table is missing, the database allows no connections, the disk is full, or data is damaged.
  { codes: /^(?:42P01|55000|53100|XX001|XX002)/, failure: 'unavailable' },
  // A statement was canceled, or has waited too long for a lock.
  {
    codes: /^(?:57014|55P03)/,
    failure: 'transient',
    connection: 'idle',
    advice: 'look at pg_locks for what locks plants or plant_store_schema',
  },
  // The server is a standby. After a failover, a new connection may reach the primary.
  { codes: /^25006/, failure: 'transient', advice: 'name the primary server' },
  // The server has ended a transaction that took too long; a distributed engine cannot reach one of its nodes.
  { codes: /^(?:25P03|25P04|XX000)/, failure: 'transient' },
];

/** Classes of errors, which are the first two characters of a SQLSTATE. */
const CLASSES: readonly KnownError[] = [
  // The user or the password is wrong.
  { codes: /^28/, failure: 'unavailable', advice: CHECK_PASSWORD },
  // No schema of search_path exists.
  { codes: /^3F/, failure: 'unavailable', advice: 'create a schema of search_path with CREATE SCHEMA' },
  // A plant does not fit the table.
  { codes: /^2[23]/, connection: 'idle', advice: USE_ANOTHER_SCHEMA },
  // A statement is wrong, such as one of an operator's trigger that calls a function that is missing.
  { codes: /^(?:0A|42)/, connection: 'idle' },
  // The database is missing, or the disk fails.
  { codes: /^(?:3D|58)/, failure: 'unavailable' },
  // A conflict with another transaction.
  { codes: /^40/, failure: 'transient', connection: 'idle' },
  // The connection failed, or the server lacks resources, starts or stops. PgBouncer reports all its errors as 08P01.
  { codes: /^(?:08|53|57)/, failure: 'transient' },
];

/** Errors without a SQLSTATE: of the driver, the connection or Node. */
const CLIENT_ERRORS: readonly KnownError[] = [
  { message: /^SASL/, failure: 'unavailable', advice: CHECK_PASSWORD },
  {
    codes: /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO/,
    message: /SSL connection/,
    failure: 'unavailable',
    advice: 'check sslmode and sslrootcert in its URL, and the certificate of the server',
  },
  {
    // The driver has given up a statement.
    message: /^Query read timeout/,
    failure: 'transient',
    connection: 'unanswered',
    advice: 'check its server, the network, and the synchronous standbys',
  },
  {
    // The connection fails: with ECONNREFUSED, EAI_AGAIN or ERR_STREAM_DESTROYED, for example, or an error of the driver.
    codes: /^(?:E(?!RR_)[A-Z_]+$|ERR_SOCKET|ERR_STREAM)/,
    message: /^(?:Client (?:has|was)|Connection terminated|Received unexpected|timeout )/,
    failure: 'transient',
    advice: 'check its server and its URL',
  },
];

/** All known errors. The first match counts, so single errors come before their classes. */
const KNOWN_ERRORS: readonly KnownError[] = [...SINGLE_ERRORS, ...CLASSES, ...CLIENT_ERRORS];

/** Matches a unique violation, a duplicate table and a duplicate object: another instance creates the same tables. */
const LOST_RACE = /^(?:23505|42P07|42710)/;

/** Returns how the repository handles an error; undefined for a defect. */
export function postgresFailure(error: unknown): Failure | undefined {
  return knownError(error)?.failure;
}

/** Returns whether another attempt may succeed. */
export function isTransient(error: unknown): boolean {
  return postgresFailure(error) === 'transient';
}

/** Returns whether the start may succeed after this error when it tries again. */
export function mayPassAtStart(error: unknown): boolean {
  return isTransient(error) || LOST_RACE.test(codeOf(error) ?? '');
}

/** Returns whether a row was refused because another one has the same value. */
export function violatesUniqueness(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/** Returns the state in which an error leaves its connection. */
export function connectionAfter(error: unknown): ConnectionState {
  return knownError(error)?.connection ?? 'closed';
}

/** Explains an error to the operator. */
export function describePostgresError(error: unknown): string {
  return withAdvice(error, knownError(error)?.advice);
}

/** Makes the line for the operator after opening the database failed with `error`. */
export function postgresStartError(database: string, error: unknown): OperatorError {
  return startError(database, error, describePostgresError(error));
}

function knownError(error: unknown): KnownError | undefined {
  const code = codeOf(error);
  return KNOWN_ERRORS.find((known) =>
    code === undefined ? known.message?.test(errorMessage(error)) : known.codes?.test(code),
  );
}

function codeOf(error: unknown): string | undefined {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
