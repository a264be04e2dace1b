import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { ContractException } from '../contract/contract.exception.js';
import { isHttpsOrLoopback, withoutQuery } from './jwt-settings.js';

/** Milliseconds that a response of the provider may take. */
const TIMEOUT = 5_000;

/** The greatest size of a provider's document, in bytes. */
const MAX_SIZE = 1_048_576;

/** Milliseconds after which keys are refreshed in the background. */
const REFRESH_AGE = 240_000;

/** Milliseconds after which keys are not used without a refresh, unless the issuer cannot be reached. */
const MAX_AGE = 300_000;

/** Minimum milliseconds between two fetches, however many tokens name unknown keys. */
const COOLDOWN = 1_000;

/** Requests that may wait for a fetch at the same time; it bounds the memory for unauthenticated requests. */
const MAX_WAITING = 1_000;

/** The signing keys of an issuer, fetched when a token first needs one, and again when they change. */
export class IssuerKeys {
  readonly #logger = new Logger('Authentication');
  #keys: JWTVerifyGetKey | undefined;
  /** The JWK Set that the keys were made of. */
  #document = '';
  #fetching: Promise<void> | undefined;
  #fetchedAt = -Infinity;
  #isFailing = false;
  #waiting = 0;

  /**
   * @param issuer its discovery document names the JWK Set (OpenID Connect Discovery 1.0 §4, RFC 8414 §3)
   * @param jwksUrl the JWK Set itself, without discovery
   * @param onChange called when the keys have changed
   */
  constructor(
    private readonly issuer: string,
    private readonly jwksUrl: URL | undefined,
    private readonly onChange: () => void,
  ) {}

  /**
   * Refreshes old keys in the background. While the issuer is down, the old keys stay in use.
   *
   * @returns a promise to wait for if the keys are too old to use, as after a pause without requests; it rejects with
   *   503 if too many requests wait
   */
  refresh(): Promise<void> | undefined {
    const age = performance.now() - this.#fetchedAt;
    if (this.#keys === undefined || age <= (this.#isFailing ? COOLDOWN : REFRESH_AGE)) return undefined;
    const fetched = this.#fetch();
    return this.#isFailing || age <= MAX_AGE ? undefined : this.#wait(fetched);
  }

  /**
   * Returns the key of a token.
   *
   * @throws {errors.JWKSNoMatchingKey} if the issuer has no such key
   * @throws {ContractException} 503 if the issuer cannot be reached, or too many requests wait
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const known = await this.#findKnown(header, token);
    if (known !== undefined) return known;
    await this.#wait(this.#fetch());
    const fetched = await this.#findKnown(header, token);
    if (fetched !== undefined) return fetched;
    if (this.#isFailing) throw new ContractException(503);
    throw new errors.JWKSNoMatchingKey();
  };

  async #findKnown(...token: Parameters<JWTVerifyGetKey>): Promise<Awaited<ReturnType<JWTVerifyGetKey>> | undefined> {
    try {
      return await this.#keys?.(...token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }

  /** Fetches the keys, once for all requests that wait. After a failure, returns at once until the cooldown is over. */
  async #fetch(): Promise<void> {
    const rest = this.#fetchedAt + COOLDOWN - performance.now();
    if (this.#fetching === undefined && this.#isFailing && rest > 0) return;
    this.#fetching ??= this.#update(rest).finally(() => {
      this.#fetching = undefined;
      this.#fetchedAt = performance.now();
    });
    await this.#fetching;
  }

  async #wait(fetched: Promise<void>): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw new ContractException(503);
    this.#waiting += 1;
    try {
      await fetched;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** @param rest milliseconds until the cooldown is over */
  async #update(rest: number): Promise<void> {
    if (rest > 0) await sleep(rest);
    try {
      const document = await download(this.jwksUrl ?? (await this.#discover()));
      if (document !== this.#document) {
        this.#keys = createLocalJWKSet(JSON.parse(document) as JSONWebKeySet);
        this.#document = document;
        this.onChange();
      }
      if (this.#isFailing) this.#logger.log(`The keys of ${this.issuer} can be fetched again`);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#logger.error(`The keys of ${this.issuer} cannot be fetched: ${describe(error)}`);
      this.#isFailing = true;
    }
  }

  async #discover(): Promise<URL> {
    const { origin, pathname, search } = new URL(this.issuer);
    const path = pathname.replace(/\/$/, '');
    const places = [
      `${origin}${path}/.well-known/openid-configuration${search}`,
      `${origin}/.well-known/oauth-authorization-server${path}${search}`,
    ];
    for (const place of places) {
      const document = await download(new URL(place)).catch((error: unknown) => {
        // Providers publish one of the two.
        if (error instanceof NotFound && place !== places.at(-1)) return undefined;
        throw error;
      });
      if (document === undefined) continue;
      const { issuer, jwks_uri: jwksUri } = JSON.parse(document) as { issuer?: unknown; jwks_uri?: unknown };
      // RFC 8414 §3.3: otherwise one issuer could speak for another.
      if (issuer !== this.issuer) throw new Error(`${place} names another issuer`);
      const url = typeof jwksUri === 'string' && URL.canParse(jwksUri) ? new URL(jwksUri) : undefined;
      if (url === undefined || !isHttpsOrLoopback(url)) throw new Error(`${place} has no https URL as jwks_uri`);
      return url;
    }
    throw new Error('there is no discovery document');
  }
}

/** Describes an error in one line. fetch() puts the reason into the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

class NotFound extends Error {}

/** Downloads a document. Redirects are refused, because they could lead into the operator's own network. */
async function download(url: URL): Promise<string> {
  const response = await fetch(url, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT),
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Read the body of a failure, too, so that the connection can be reused.
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_SIZE) throw new Error(`${withoutQuery(url)} has more than ${MAX_SIZE} bytes`);
  }
  if (response.status === 404) throw new NotFound(`${withoutQuery(url)} does not exist`);
  if (response.status !== 200) throw new Error(`${withoutQuery(url)} answers with status ${response.status}`);
  return Buffer.concat(chunks).toString('utf8');
}
