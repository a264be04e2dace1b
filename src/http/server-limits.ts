/** The limits of the public port: times in milliseconds, and connections. */
export interface ServerLimits {
  /** From the first byte of a request to the end of its headers; `request` if that is less. */
  readonly headers: number;
  /** From when the service begins to read a body to its last byte; also for the client to take an answer. */
  readonly request: number;
  /** Between two requests of a connection, which then closes without an answer. */
  readonly keepAlive: number;
  /**
   * Open connections. A further one replaces the one that has waited the longest for its client, or for an identity
   * provider, first those that never had a 200; if all are in use, it is answered 503.
   */
  readonly connections: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  headers: 10_000,
  request: 30_000,
  keepAlive: 72_000,
  connections: 2_000,
};
