import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JSONWebKeySet,
  jwksCache,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose';
import { ContractException } from '../contract/contract.exception.js';
import { isHttpsOrLoopback, withoutQuery } from './jwt-settings.js';

/** Minimum milliseconds between two fetches for unknown keys. */
const COOLDOWN = 1_000;

/** Milliseconds until the keys are fetched again, because the issuer may have withdrawn one. */
const RELOAD_INTERVAL = 240_000;

/** The same if the issuer cannot be reached. */
const RETRY_INTERVAL = 10_000;

/** The codes of errors that say that the keys are known, and none of them fits the token. */
const KEY_ERRORS = ['ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'ERR_JOSE_NOT_SUPPORTED'];

/** The signing keys of an issuer, fetched when a token first needs one, and again when they change. */
export class IssuerKeys {
  readonly #logger = new Logger('Authentication');
  readonly #keys: RemoteJWKSet;
  /** jose keeps here what it has fetched last. */
  readonly #cache: JWKSCacheInput = {};
  #fetched: JSONWebKeySet | undefined;
  #isFailing = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param issuer its discovery document names the JWK Set (OpenID Connect Discovery 1.0 §4, RFC 8414 §3)
   * @param jwksUrl the JWK Set itself, without discovery
   * @param onChange called when the keys have changed
   */
  constructor(
    private readonly issuer: string,
    jwksUrl: URL | undefined,
    private readonly onChange: () => void,
  ) {
    this.#keys = createRemoteJWKSet(jwksUrl ?? new URL(issuer), {
      // Known keys stay in use while the issuer cannot be reached.
      cacheMaxAge: Infinity,
      cooldownDuration: COOLDOWN,
      [jwksCache]: this.#cache,
      [customFetch]: async (_url, options) => download(jwksUrl ?? (await this.#discover(options)), options),
    });
  }

  /**
   * Returns the key of a token.
   *
   * @throws {errors.JWKSNoMatchingKey} if the issuer has no such key
   * @throws {ContractException} 503 if the issuer cannot be reached
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    this.#timer ??= this.#reloadIn(RELOAD_INTERVAL);
    const { coolingDown } = this.#keys;
    try {
      return await this.#keys(header, token).catch(async (error: unknown) => {
        if (!coolingDown || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
        // The issuer may have published the key since the last fetch.
        await sleep(COOLDOWN, undefined, { ref: false });
        return this.#keys(header, token);
      });
    } catch (error) {
      if (error instanceof errors.JOSEError && KEY_ERRORS.includes(error.code)) throw error;
      this.#complain(error);
      throw new ContractException(503);
    } finally {
      this.#notice();
    }
  };

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #reloadIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => void this.#reload(), milliseconds).unref();
  }

  async #reload(): Promise<void> {
    try {
      await this.#keys.reload();
    } catch (error) {
      this.#complain(error);
    }
    this.#notice();
    if (!this.#isClosed) this.#timer = this.#reloadIn(this.#isFailing ? RETRY_INTERVAL : RELOAD_INTERVAL);
  }

  /** Looks whether jose has fetched the keys meanwhile. */
  #notice(): void {
    const { jwks } = this.#cache;
    if (jwks === this.#fetched) return;
    if (JSON.stringify(jwks) !== JSON.stringify(this.#fetched)) this.onChange();
    this.#fetched = jwks;
    if (this.#isFailing) this.#logger.log(`The keys of ${this.issuer} can be fetched again`);
    this.#isFailing = false;
  }

  #complain(error: unknown): void {
    if (!this.#isFailing) this.#logger.error(`The keys of ${this.issuer} cannot be fetched: ${describe(error)}`);
    this.#isFailing = true;
  }

  async #discover(options: FetchOptions): Promise<URL> {
    // An issuer has no query (RFC 8414 §2).
    const { origin, pathname } = new URL(this.issuer);
    const path = pathname.replace(/\/$/, '');
    const openid = new URL(`${origin}${path}/.well-known/openid-configuration`);
    const oauth = new URL(`${origin}/.well-known/oauth-authorization-server${path}`);
    // Issuers publish one of the two.
    const response = await download(openid, options).catch(() => download(oauth, options));
    const { issuer, jwks_uri: jwksUri } = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
    // RFC 8414 §3.3: otherwise one issuer could speak for another.
    if (issuer !== this.issuer) throw new Error(`${response.url} names another issuer`);
    const url = URL.canParse(String(jwksUri)) ? new URL(String(jwksUri)) : undefined;
    if (url === undefined || !isHttpsOrLoopback(url)) throw new Error(`${response.url} has no https URL as jwks_uri`);
    return url;
  }
}

/** Has `redirect: manual`, because a redirect could lead into the operator's own network. */
type FetchOptions = Parameters<FetchImplementation>[1];

async function download(url: URL, options: FetchOptions): Promise<Response> {
  const response = await fetch(url, options);
  if (response.status !== 200) throw new Error(`${withoutQuery(url)} answers with status ${response.status}`);
  return response;
}

/** Describes an error in one line. fetch() puts the reason into the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
