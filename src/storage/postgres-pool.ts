import { randomBytes } from 'node:crypto';
import { finished } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import pg, { type PoolConfig, type QueryResult, type QueryResultRow } from 'pg';
import type { DatabaseOptions } from './database-options.js';
import type { PlantValue } from './plant-columns.js';
import { isConnectionUsableAfter } from './postgres-errors.js';

/** Milliseconds after which an idle connection is closed. */
const IDLE_TIMEOUT = 60_000;

/** Milliseconds between two checks of statements that the server has not answered. */
const CHECK_INTERVAL = 500;

/** The server cancels a statement after this share of the client's timeout, so that its answer arrives in time. */
const SERVER_SHARE = 0.8;

/**
 * Transactions on at most `poolSize` connections.
 *
 * Closing a connection does not end its statement: the server's backend goes on waiting for its lock, and each attempt
 * would leave one more. Therefore the server itself ends a statement that takes too long, and a connection without an
 * answer keeps its place in the pool until it has one. Such a statement waits for something that no timeout of the server
 * ends, such as a synchronous standby, or its connection is dead: one more connection asks the server which is true.
 */
export class PostgresPool {
  readonly #pool: pg.Pool;
  /** Default milliseconds that a statement may take. */
  readonly #timeout: number;
  /** Begins each transaction, and is unique: pg_stat_activity shows it in the query, even behind a pooler. */
  readonly #mark = `/* plant-store ${randomBytes(8).toString('hex')} */`;
  /** For each connection without an answer, a function that closes it. */
  readonly #unanswered = new Set<() => void>();
  #isChecking = false;
  #isClosed = false;

  constructor(
    private readonly settings: PoolConfig,
    { timeout, poolSize }: DatabaseOptions,
  ) {
    // Half of the timeout, so that an attempt on a connection that hangs leaves as much for another attempt.
    this.#timeout = Math.ceil(timeout / 2);
    this.#pool = new pg.Pool({
      ...settings,
      max: poolSize,
      idleTimeoutMillis: IDLE_TIMEOUT,
      keepAlive: true,
      connectionTimeoutMillis: this.#timeout,
      // For these connections alone: a host may use the driver, too. A number cannot hold an int64.
      types: {
        getTypeParser: ((...type: Parameters<typeof pg.types.getTypeParser>): unknown =>
          type[0] === pg.types.builtins.INT8
            ? BigInt
            : pg.types.getTypeParser(...type)) as typeof pg.types.getTypeParser,
      },
    });
    // A query reports the failure of its connection itself; that of an idle connection concerns no request.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /**
   * Runs statements in one transaction, and returns the rows of the last one. They travel in one message: that takes one
   * round trip, and a pooler runs them all on one connection. The message has no parameters; see `literal`.
   */
  transact<Row extends QueryResultRow>(statements: string): Promise<Row[]> {
    return this.#send(statements, this.#timeout, isConnectionUsableAfter);
  }

  /**
   * Copies rows into a table, in one transaction. It takes three round trips, and less than half the CPU time of an INSERT
   * for thousands of rows.
   *
   * @param statements run at the beginning of the transaction
   * @param table its name, and its columns in parentheses
   * @param rows in the text format of COPY
   * @throws {Error} if the package pg-copy-streams is not installed; see `isCopyMissing`
   */
  async copy(statements: string, table: string, rows: string): Promise<void> {
    // Imported here, because an embedding application may not have it.
    const { from } = await import('pg-copy-streams');
    // After an error, the connection may still be in the transaction.
    await this.#work(
      this.#timeout,
      () => false,
      async (client) => {
        await client.query(`${this.#mark} BEGIN; ${limit(this.#timeout)}; ${idleLimit(this.#timeout)}; ${statements}`);
        const stream = client.query(from(`${this.#mark} COPY ${table} FROM STDIN`));
        stream.end(rows);
        await finished(stream);
        await client.query(`${this.#mark} COMMIT`);
      },
    );
  }

  /**
   * Runs statements in a transaction, and rolls it back.
   *
   * @param timeout milliseconds that the server may take
   */
  async rehearse(statements: string, timeout: number): Promise<void> {
    // After an error, the connection is still in the transaction.
    await this.#send(`BEGIN; ${statements}; ROLLBACK`, Math.min(timeout, this.#timeout), () => false);
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const close of this.#unanswered) close();
    await this.#pool.end();
  }

  #send<Row extends QueryResultRow>(
    statements: string,
    timeout: number,
    isUsableAfter: (error: unknown) => boolean,
  ): Promise<Row[]> {
    return this.#work(timeout, isUsableAfter, async (client) =>
      lastRows(await client.query<Row>(`${this.#mark} ${limit(timeout)}; ${statements}`)),
    );
  }

  /** Does work on a connection. Each of its statements begins with the mark. */
  async #work<Result>(
    timeout: number,
    isUsableAfter: (error: unknown) => boolean,
    work: (client: pg.PoolClient) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#pool.connect();
    let isReleased = false;
    const release = (isUsable: boolean): void => {
      if (!isReleased) client.release(!isUsable);
      isReleased = true;
      this.#unanswered.delete(close);
    };
    const close = (): void => release(false);
    const answer = work(client).then(
      (result) => {
        release(true);
        return result;
      },
      (error: unknown) => {
        release(isUsableAfter(error));
        throw error;
      },
    );
    const answered = new AbortController();
    const tooLate = setTimeout(timeout, undefined, { signal: answered.signal }).then(() => {
      this.#keep(close);
      throw new Error(`it did not answer within ${timeout} ms`);
    });
    try {
      return await Promise.race([answer, tooLate]);
    } finally {
      answered.abort();
    }
  }

  #keep(close: () => void): void {
    this.#unanswered.add(close);
    if (this.#isClosed) close();
    else if (!this.#isChecking) void this.#closeDead();
  }

  /** Closes connections whose statements the server does not execute: they are dead, or lead to another server. */
  async #closeDead(): Promise<void> {
    this.#isChecking = true;
    while (this.#unanswered.size > 0) {
      const seen = [...this.#unanswered];
      // While the server does not answer, keep them: closing them would only make room for more.
      const isExecuting = await this.#isExecuting().catch(() => true);
      if (!isExecuting) for (const close of seen) close();
      await setTimeout(CHECK_INTERVAL, undefined, { ref: false });
    }
    this.#isChecking = false;
  }

  /** Returns whether the server still executes a statement that should have ended. */
  async #isExecuting(): Promise<boolean> {
    const client = new pg.Client({
      ...this.settings,
      connectionTimeoutMillis: this.#timeout,
      query_timeout: this.#timeout,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const results = await client.query<{ found: boolean }>(
        `${limit(this.#timeout)}; SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND ` +
          `starts_with(query, ${literal(this.#mark)}) AND ` +
          `query_start < clock_timestamp() - interval '${SERVER_SHARE * this.#timeout} ms') AS found`,
      );
      return lastRows(results)[0]?.found === true;
    } finally {
      await client.end();
    }
  }
}

/** Returns whether `copy` failed because its package is not installed. */
export function isCopyMissing(error: unknown): boolean {
  return error instanceof Error && error.message.includes("'pg-copy-streams'");
}

/** Writes a value as a literal of SQL. */
export function literal(value: PlantValue): string {
  return value === null ? 'NULL' : pg.escapeLiteral(String(value));
}

/** Lets the server cancel each of the statements that follow in the transaction. It does not cancel a commit. */
function limit(timeout: number): string {
  return `SET LOCAL statement_timeout = ${serverShare(timeout)}`;
}

/** Lets the server end a transaction whose client sends no further statement. */
function idleLimit(timeout: number): string {
  return `SET LOCAL idle_in_transaction_session_timeout = ${serverShare(timeout)}`;
}

/** At least 1: zero turns a timeout off. */
function serverShare(timeout: number): number {
  return Math.max(1, Math.ceil(SERVER_SHARE * timeout));
}

/** Returns the rows of the last statement; for a message of several, the driver returns an array. */
function lastRows<Row extends QueryResultRow>(results: QueryResult<Row> | QueryResult<Row>[]): Row[] {
  return [results].flat().at(-1)?.rows ?? [];
}
