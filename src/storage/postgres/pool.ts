import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import pg, { type PoolConfig } from 'pg';
import { connectionSettings } from './connection-settings.js';
import { connectionAfter, isTransient } from './errors.js';
import { literal } from './literal.js';

/** Maximum connections: one for the batch in flight, and one for a check or for an attempt that was given up. */
const POOL_SIZE = 2;

/** Milliseconds after which an idle connection is closed. */
const IDLE_TIMEOUT = 60_000;

/** The client waits for this share of a batch's timeout, so that the batch has time for another attempt. */
const ATTEMPT_SHARE = 0.5;

/** The server cancels a statement after this share of the time that the client waits, so that the client gets its error. */
const SERVER_SHARE = 0.8;

/** Milliseconds between two questions to the server about an unanswered statement. */
const WATCH_INTERVAL = 500;

/** Milliseconds that a question about an unanswered statement, or the connection for it, may take. */
const WATCH_TIMEOUT = 1_000;

/** The result of each statement of a message. */
type Results = readonly pg.QueryArrayResult<unknown[]>[];

interface ExecuteOptions {
  /** True if an error leaves the transaction open, because it has a BEGIN. */
  readonly leavesOpenTransaction?: boolean;
  /** Milliseconds that the caller waits, if it waits for less than the pool. */
  readonly timeout?: number | undefined;
}

/**
 * Transactions on at most two connections. `ConnectionState` says what happens to a connection after an error.
 *
 * These limits end a batch, with the default timeout of 5 s:
 *
 * | after                        | what happens                                                        | where            |
 * |------------------------------|---------------------------------------------------------------------|------------------|
 * | 5 s, the timeout             | the batch fails, even while an attempt goes on                      | retry-in-time.ts |
 * | 5 s, or 100 ms in an outage  | no further attempt begins; the one that has begun may go on         | outage.ts        |
 * | 2.5 s, half of the timeout   | the client gives up one statement, and the attempt fails            | here             |
 * | 2 s, 0.8 of that             | the server cancels the statement, so that its connection stays idle | here             |
 */
export class PostgresPool {
  /** Milliseconds that the client waits for a connection, or for an answer. */
  readonly #attemptTimeout: number;
  readonly #pool: pg.Pool;
  /** One more connection, for questions about unanswered statements. */
  readonly #watch: pg.Pool;

  /** @param timeout milliseconds that a batch may take, with its retries */
  constructor(url: string, timeout: number) {
    this.#attemptTimeout = Math.ceil(ATTEMPT_SHARE * timeout);
    this.#pool = createPool(connectionSettings(url, this.#attemptTimeout), POOL_SIZE);
    this.#watch = createPool(connectionSettings(url, WATCH_TIMEOUT), 1);
  }

  /**
   * Runs statements in one transaction, and returns the rows of the last one as arrays. The statements travel in one
   * message, which takes one round trip, and which a pooler sends to one connection. It has no parameters; see `literal`.
   */
  async transact(statements: string): Promise<unknown[][]> {
    const results = await this.#execute(statements);
    return results.at(-1)?.rows ?? [];
  }

  /**
   * Runs statements in a transaction that is rolled back, and returns the rows of the last one as arrays.
   *
   * @param timeout milliseconds that the caller waits, if it waits for less than this pool
   */
  async transactAndRollBack(statements: readonly string[], timeout?: number): Promise<unknown[][]> {
    const transaction = `BEGIN; ${statements.join('; ')}; ROLLBACK`;
    const results = await this.#execute(transaction, { leavesOpenTransaction: true, timeout });
    // The last result is that of ROLLBACK.
    return results.at(-2)?.rows ?? [];
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#watch.end()]);
  }

  /** Sends the statements of a transaction in one message, and returns the result of each. */
  async #execute(
    transaction: string,
    { leavesOpenTransaction = false, timeout = Infinity }: ExecuteOptions = {},
  ): Promise<Results> {
    const client = await this.#pool.connect();
    // pg_stat_activity shows the beginning of the message, even behind a pooler.
    const mark = `/* plant-store ${randomUUID()} */`;
    // The statements of a message are one transaction. A BEGIN after the SET LOCAL only makes it explicit:
    // https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-MULTI-STATEMENT
    const text = `${mark} ${limitOnServer(Math.min(timeout, this.#attemptTimeout))}; ${transaction}`;
    try {
      const results = await client.query<unknown[]>({ text, rowMode: 'array' });
      client.release();
      return ofEachStatement(results);
    } catch (error) {
      const state = connectionAfter(error);
      if (state === 'unanswered') void this.#closeOnceEnded(client, mark);
      // An open transaction must not go back into the pool.
      else client.release(state === 'closed' || leavesOpenTransaction);
      throw error;
    }
  }

  /** Closes an unanswered connection, as soon as the server does not execute its statement any more. */
  async #closeOnceEnded(client: pg.PoolClient, mark: string): Promise<void> {
    while (await this.#mayBeExecuting(mark)) await wait(WATCH_INTERVAL);
    client.release(true);
  }

  async #mayBeExecuting(mark: string): Promise<boolean> {
    try {
      return await this.#isExecuting(mark);
    } catch (error) {
      // A server that cannot be reached may still execute the statement, so it is asked again. Any other error, such as that
      // of this pool after `close`, would come each time.
      return isTransient(error);
    }
  }

  /** Asks the server, which needs `track_activities` for the answer: docs/scaling.md says so. */
  async #isExecuting(mark: string): Promise<boolean> {
    const question = `SELECT FROM pg_stat_activity WHERE state = 'active' AND starts_with(query, ${literal(mark)})`;
    const results = await this.#watch.query<unknown[]>({
      text: `${limitOnServer(WATCH_TIMEOUT)}; ${question}`,
      rowMode: 'array',
    });
    return ofEachStatement(results).at(-1)?.rowCount !== 0;
  }
}

/** Returns the results of a message, one for each statement. The types of the driver lack this array. */
function ofEachStatement(results: unknown): Results {
  return results as Results;
}

function createPool(settings: PoolConfig, max: number): pg.Pool {
  const pool = new pg.Pool({ ...settings, max, idleTimeoutMillis: IDLE_TIMEOUT });
  // A query reports the failure of its connection itself, and the failure of an idle connection concerns no request.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Lets the server cancel each of the statements that follow in the transaction. It does not cancel a commit.
 *
 * @param timeout milliseconds that the client waits
 */
function limitOnServer(timeout: number): string {
  // The limit is at least 1, because zero turns it off.
  return `SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(SERVER_SHARE * timeout))}`;
}
