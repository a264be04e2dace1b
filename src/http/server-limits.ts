/** The limits of the public port: times in milliseconds, and connections. */
export interface ServerLimits {
  /**
   * From the opening of the connection, and for later requests from the first byte, to the end of the headers; `request` if
   * that is less.
   */
  readonly headers: number;
  /** From the beginning of the reading of a body to its last byte; also the time for a client to take an answer. */
  readonly request: number;
  /** Between two requests of a connection, which then closes without an answer. */
  readonly keepAlive: number;
  /** Maximum open connections. A further one replaces one that waits, see OpenConnections, or else gets error 503. */
  readonly connections: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  headers: 10_000,
  request: 30_000,
  keepAlive: 72_000,
  connections: 2_000,
};
