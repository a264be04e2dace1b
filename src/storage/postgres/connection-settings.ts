import pg, { type ClientConfig } from 'pg';

/** Reads int64 as bigint, which a number cannot hold. Only our connections do so: a host may use the driver, too. */
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, BigInt);

/**
 * Returns the settings of a connection.
 *
 * @param connectTimeout milliseconds that the client waits for a connection
 * @param queryTimeout milliseconds that it waits for an answer
 */
export function connectionSettings(url: string, connectTimeout: number, queryTimeout = connectTimeout): ClientConfig {
  const parsed = new URL(url);
  // Without this parameter, the driver takes each sslmode for verify-full, and warns that this will change.
  parsed.searchParams.set('uselibpqcompat', 'true');
  return {
    connectionString: parsed.href,
    fallback_application_name: 'plant-store',
    types,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeout,
    query_timeout: queryTimeout,
  };
}
