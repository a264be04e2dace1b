import { Logger, ServiceUnavailableException } from '@nestjs/common';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet, type RemoteJWKSet } from 'jose';
import { isHttpsOrLoopback } from '../loopback-host.js';
import type { JwtSettings } from './access-token.js';

/** Milliseconds between two fetches, so that tokens with invented keys do not flood the issuer. */
const COOLDOWN = 1_000;

/**
 * Creates jose's remote key set of an issuer. It fetches the keys when a token needs one that is unknown, and throws a
 * ServiceUnavailableException if they cannot be fetched. Known keys stay in use until a reload replaces them.
 *
 * Discovery: OpenID Connect Discovery 1.0 §4.
 */
export function createIssuerKeys(settings: JwtSettings): RemoteJWKSet {
  const { issuer, jwksUrl } = settings;
  const discoveryUrl = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const logger = new Logger('Authentication');
  /** When the latest fetch failed; undefined if it succeeded. */
  let failedAt: number | undefined;
  const fetchKeys = async (options: RequestInit): Promise<Response> => {
    // jose's own cooldown counts successful fetches only.
    if (failedAt !== undefined && performance.now() < failedAt + COOLDOWN) throw new ServiceUnavailableException();
    try {
      const keysUrl = jwksUrl ?? (await discover(discoveryUrl, settings, options));
      const keys = (await fetchJson(keysUrl, settings, options)) as JSONWebKeySet;
      // Throws if these are no keys.
      createLocalJWKSet(keys);
      if (failedAt !== undefined) logger.log(`The keys of ${issuer} can be fetched again`);
      failedAt = undefined;
      return Response.json(keys);
    } catch (error) {
      if (failedAt === undefined) logger.error(`The keys of ${issuer} cannot be fetched: ${describe(error)}`);
      failedAt = performance.now();
      throw new ServiceUnavailableException(undefined, { cause: error });
    }
  };
  // jose requires a URL, but leaves it to `fetchKeys` how to get the keys.
  return createRemoteJWKSet(jwksUrl ?? discoveryUrl, {
    cooldownDuration: COOLDOWN,
    // Otherwise, while the issuer is down, jose would refuse tokens whose key was fetched long ago.
    cacheMaxAge: Infinity,
    [customFetch]: (_url, options) => fetchKeys(options),
  });
}

/** Returns the URL of the keys. */
async function discover(url: URL, settings: JwtSettings, options: RequestInit): Promise<URL> {
  const document = (await fetchJson(url, settings, options)) as Record<string, unknown>;
  // One issuer must not speak for another (OpenID Connect Discovery 1.0 §4.3).
  if (document.issuer !== settings.issuer) throw new Error(`${nameOf(url)} names another issuer`);
  return new URL(String(document.jwks_uri));
}

/** @param options the options of jose, which forbid redirects: one could lead into the operator's own network */
async function fetchJson(url: URL, { allowHttp }: JwtSettings, options: RequestInit): Promise<unknown> {
  if (allowHttp !== true && !isHttpsOrLoopback(url)) throw new Error(`${nameOf(url)} is not https`);
  const response = await fetch(url, options);
  if (response.status === 200) return response.json();
  // An unread body would keep its connection open until it is garbage-collected.
  await response.body?.cancel();
  throw new Error(`${nameOf(url)} answers with status ${response.status}`);
}

/** Returns a URL for the log, without the query, which may have a secret. */
function nameOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** Describes an error in one line, with its cause, where `fetch` puts the reason. */
function describe(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
