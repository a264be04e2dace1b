import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { PostgresUrl } from '../database-url.js';
import { errorMessage, unavailableError } from '../errors.js';
import { retry } from '../retry.js';

/** The package pg. */
export type Driver = typeof pg;

/** Milliseconds after which an idle connection is closed. The default of the driver is 10 s. */
const IDLE_TIMEOUT = 60_000;

/** Milliseconds between two attempts. */
const PAUSE = 20;

/** Share of a batch's timeout in which a connection must open, so that there is time for another attempt. */
const CONNECT_SHARE = 0.5;

/**
 * Share of a batch's timeout in which the server must execute the statements, so that the client gets the server's
 * error.
 */
const SERVER_SHARE = 0.8;

/**
 * SQLSTATEs, or their classes, of errors that may be over at the next attempt, on another connection: the connection
 * failed, the server is a standby, ended a long transaction, lacks memory or connections, stops or starts; another
 * transaction is in conflict; a node of Citus fails. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const TRANSIENT = /^(?:08|25006|25P03|25P04|40|53200|53300|57P|XX000)/;

/**
 * SQLSTATEs, or their classes, of errors that last: the user, the database, the schema, a privilege, a table or a
 * column is missing or wrong, a lock was held for too long, the disk is full, a file is damaged. Any other error is the
 * fault of a plant, or a defect.
 */
const LASTING = /^(?:28|3D|3F|42501|42703|42P01|42P10|53|55|57|58|XX)/;

/**
 * Matches errors of the connection that no further attempt corrects: of TLS, of the password, and of files in the URL.
 */
const LASTING_CONNECTION = /support SSL|certificate|SASL|SCRAM|^(?:ENOENT|EACCES)\b.* open /;

/** The server cannot be reached, or does not answer: an error of the network, of TLS or of the driver. */
class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** Returns what an error means for the store; undefined for the fault of a plant, or a defect. */
function failureOf(error: unknown): 'transient' | 'lasting' | undefined {
  const { code, message } = error as { readonly code?: unknown; readonly message: string };
  if (error instanceof ConnectionError) return LASTING_CONNECTION.test(message) ? 'lasting' : 'transient';
  if (TRANSIENT.test(String(code))) return 'transient';
  return LASTING.test(String(code)) ? 'lasting' : undefined;
}

/** Returns whether another attempt may succeed. */
export function isTransient(error: unknown): boolean {
  return failureOf(error) === 'transient';
}

/** Returns whether no plant can be stored now. */
export function isUnavailable(error: unknown): boolean {
  return failureOf(error) !== undefined;
}

/** Returns the settings of a connection. */
export function connectionSettings({ href }: PostgresUrl): pg.ClientConfig {
  const url = new URL(href);
  // Without this parameter, the driver takes each sslmode for verify-full, and warns that this will change.
  url.searchParams.set('uselibpqcompat', 'true');
  return { connectionString: url.href, fallback_application_name: 'plant-store', keepAlive: true };
}

/**
 * The connections for transactions that are one message each: one batch is in flight at a time, and the other
 * connection is for checks. An error closes its connection, and the next message opens another.
 */
export class PostgresPool {
  /** Spells a text as a literal of SQL. */
  readonly escapeLiteral: Driver['escapeLiteral'];
  readonly #pool: pg.Pool;
  readonly #serverTimeout: string;

  /** @param timeout milliseconds that a batch may take */
  constructor(driver: Driver, url: PostgresUrl, timeout: number) {
    this.escapeLiteral = driver.escapeLiteral;
    this.#serverTimeout = `SET LOCAL statement_timeout = ${Math.ceil(SERVER_SHARE * timeout)}`;
    this.#pool = new driver.Pool({
      ...connectionSettings(url),
      max: 2,
      connectionTimeoutMillis: Math.ceil(CONNECT_SHARE * timeout),
      query_timeout: timeout,
      idleTimeoutMillis: IDLE_TIMEOUT,
    });
    // The failure of an idle connection concerns no request.
    this.#pool.on('error', () => undefined);
  }

  /**
   * Runs statements in one transaction, and returns the rows of the last one as arrays. They travel in one message,
   * which takes one round trip, and which a pooler sends to one connection. Only a message without parameters takes
   * several statements.
   *
   * The server ends a statement that waits for a lock. It does not end a commit that waits for a synchronous standby:
   * there, the client gives up and closes the connection, and the backend stays until the standby is back.
   */
  async transact(statements: string): Promise<unknown[][]> {
    try {
      // One result for each statement, which the types of the driver lack.
      const text = `${this.#serverTimeout}; ${statements}`;
      const results: unknown = await this.#pool.query({ text, rowMode: 'array' });
      return (results as pg.QueryArrayResult<unknown[]>[]).at(-1)?.rows ?? [];
    } catch (error) {
      throw 'severity' in Object(error) ? error : new ConnectionError(errorMessage(error), { cause: error });
    }
  }

  /**
   * Repeats a transaction while another attempt may succeed, until the deadline on the clock of `performance.now`. An
   * attempt that is under way then may still store its plants.
   *
   * @throws {RepositoryUnavailableError} when no plant can be stored now
   */
  async transactUntil(deadline: number, statements: string): Promise<unknown[][]> {
    const timeout = deadline - performance.now();
    let reason: unknown = new ConnectionError('it does not answer in time');
    const onPause = (error: unknown): void => {
      reason = error;
    };
    const attempts = retry(() => this.transact(statements), { timeout, pause: PAUSE, isTransient, onPause });
    const timer = new AbortController();
    const timedOut = wait(timeout, undefined, { signal: timer.signal }).then(() => {
      throw reason;
    });
    try {
      return await Promise.race([attempts, timedOut]);
    } catch (error) {
      throw isUnavailable(error) ? unavailableError(error) : error;
    } finally {
      timer.abort();
    }
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}
