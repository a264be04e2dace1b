/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a server that cannot be reached yet. SQLite does not use it. */
  readonly startTimeout: number;
  /** Called once if the start waits, with the reason in one line for the operator. */
  readonly onWait?: (reason: string) => void;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000 };
