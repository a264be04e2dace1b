import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import pg, { type PoolConfig } from 'pg';
import { UnusableDatabaseError } from './errors.js';

/** For our connections alone: a host may use the driver, too. A number cannot hold an int64. */
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, BigInt);

/**
 * Reads the settings of a connection from a URL. The driver's own reading of `sslmode` is not libpq's: it takes
 * `require` for `verify-full`, and warns that this will change.
 *
 * @param connectTimeout milliseconds that the client waits for a connection
 * @param queryTimeout milliseconds that it waits for an answer
 */
export function connectionSettings(url: string, connectTimeout: number, queryTimeout = connectTimeout): PoolConfig {
  const parsed = new URL(url);
  const take = (name: string): string | undefined => {
    const value = parsed.searchParams.get(name) ?? undefined;
    parsed.searchParams.delete(name);
    return value;
  };
  const read = (name: string): Buffer | undefined => {
    const file = take(name);
    try {
      return file === undefined ? undefined : readFileSync(file);
    } catch (cause) {
      throw new UnusableDatabaseError(`cannot be reached: the ${name} of its URL cannot be read, ${String(file)}`, {
        cause,
      });
    }
  };
  const mode = take('sslmode') ?? 'disable';
  const [ca, cert, key] = [read('sslrootcert'), read('sslcert'), read('sslkey')];
  const certificates = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return {
    connectionString: parsed.href,
    fallback_application_name: 'plant-store',
    ssl: tlsOptions(mode, certificates),
    types,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeout,
    query_timeout: queryTimeout,
  };
}

/** Follows libpq: `require` with a root certificate verifies as `verify-ca` does. */
function tlsOptions(mode: string, certificates: ConnectionOptions): false | ConnectionOptions {
  if (mode === 'disable') return false;
  if (mode === 'verify-full') return certificates;
  if (mode === 'verify-ca' || certificates.ca !== undefined) {
    return { ...certificates, checkServerIdentity: () => undefined };
  }
  return { ...certificates, rejectUnauthorized: false };
}
