import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { ContractException } from '../errors/contract.exception.js';
import { isSecure } from './jwt-settings.js';

/** Milliseconds for one answer of the provider. */
const TIMEOUT = 5_000;

/** Bytes that a document of the provider may have. */
const MAX_SIZE = 1_048_576;

/** Milliseconds after which keys are fetched anew, while requests go on with those there are. */
const REFRESH_AGE = 240_000;

/** Milliseconds that keys which the issuer has withdrawn count at most, while it can be reached. */
const MAX_AGE = 300_000;

/** Milliseconds between two fetches, whatever strangers ask for. */
const COOLDOWN = 1_000;

/** Requests that may wait for a fetch at the same time: each of them is in memory, and a stranger's as long as any. */
const MAX_WAITING = 1_000;

/** The keys with which an issuer signs. They are fetched when a token first needs one, and again when they change. */
export class IssuerKeys {
  readonly #logger = new Logger('Authentication');
  #keys: JWTVerifyGetKey | undefined;
  /** The document that they were made of. */
  #document = '';
  #fetching: Promise<void> | undefined;
  #fetchedAt = -Infinity;
  #isFailing = false;
  #waiting = 0;

  /**
   * @param issuer whose discovery document names the JWK Set (OpenID Connect Discovery 1.0 §4, RFC 8414 §3)
   * @param jwksUrl the JWK Set itself; no discovery then
   * @param onChange runs when other keys count than before
   */
  constructor(
    private readonly issuer: string,
    private readonly jwksUrl: URL | undefined,
    private readonly onChange: () => void,
  ) {}

  /**
   * Fetches the keys anew when they are old, in the background: those there are go on when the issuer is down.
   *
   * @returns what to wait for where they are too old: in a pause without requests nobody sees what is withdrawn; it is
   *   refused with 503 where too many wait already
   */
  refresh(): Promise<void> | undefined {
    const age = performance.now() - this.#fetchedAt;
    if (this.#keys === undefined || age <= (this.#isFailing ? COOLDOWN : REFRESH_AGE)) return undefined;
    const fetched = this.#fetch();
    return this.#isFailing || age <= MAX_AGE ? undefined : this.#wait(fetched);
  }

  /**
   * The key of a token.
   *
   * @throws {errors.JWKSNoMatchingKey} when the issuer has no such key
   * @throws {ContractException} 503 when the issuer cannot be asked, or too many wait for its answer
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const known = await this.#look(header, token);
    if (known !== undefined) return known;
    await this.#wait(this.#fetch());
    const fetched = await this.#look(header, token);
    if (fetched !== undefined) return fetched;
    if (this.#isFailing) throw new ContractException(503);
    throw new errors.JWKSNoMatchingKey();
  };

  async #look(...token: Parameters<JWTVerifyGetKey>): Promise<Awaited<ReturnType<JWTVerifyGetKey>> | undefined> {
    try {
      return await this.#keys?.(...token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }

  /** Fetches the keys, once for all who wait. A new key is asked for as often as the cooldown lets, a failure sooner told. */
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
    await fetched;
    this.#waiting -= 1;
  }

  /** @param rest milliseconds before which the issuer is left alone */
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
        // Which of the two there is, is the provider's choice.
        if (error instanceof NotFound && place !== places.at(-1)) return undefined;
        throw error;
      });
      if (document === undefined) continue;
      const { issuer, jwks_uri: jwksUri } = JSON.parse(document) as { issuer?: unknown; jwks_uri?: unknown };
      // RFC 8414 §3.3: otherwise one issuer could speak for another.
      if (issuer !== this.issuer) throw new Error(`${place} is the document of another issuer`);
      const url = typeof jwksUri === 'string' && URL.canParse(jwksUri) ? new URL(jwksUri) : undefined;
      if (url === undefined || !isSecure(url)) throw new Error(`${place} has no https URL as jwks_uri`);
      return url;
    }
    throw new Error('there is no discovery document');
  }
}

/** In one line; the cause is where fetch says what happened. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

class NotFound extends Error {}

/** A document of the provider. Redirects are not followed: they could lead within the operator's own network. */
async function download(url: URL): Promise<string> {
  const response = await fetch(url, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT),
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Read whatever the status, so that the connection can be used again.
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_SIZE) throw new Error(`${url.href} has more than ${MAX_SIZE} bytes`);
  }
  if (response.status === 404) throw new NotFound(`${url.href} does not exist`);
  if (response.status !== 200) throw new Error(`${url.href} is answered with ${response.status}`);
  return Buffer.concat(chunks).toString('utf8');
}
