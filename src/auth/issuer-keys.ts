import { Logger } from '@nestjs/common';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { ContractException } from '../contract/contract.exception.js';
import { isHttpsOrLoopback } from '../loopback-host.js';

/**
 * Milliseconds from the beginning of a fetch to the next one. Strangers make up unknown keys, and must not make the
 * service a burden for the issuer. In this second, a token with a new key is refused.
 */
const COOLDOWN = 1_000;

/** Milliseconds for the issuer to answer: many times what an issuer takes, and less than most clients wait. */
const FETCH_TIMEOUT = 5_000;

/** Bytes of a document of the issuer, at most: a hundred times what an issuer sends. */
const MAX_DOCUMENT = 1_048_576;

/**
 * Requests that wait for a fetch, at most. They all wait for the same one. Each holds a connection and, if strangers send
 * chunks of one byte, 6 MB: what Node has parsed of the body.
 */
const MAX_WAITING = 20;

/** Of discovery documents and JWK Sets (RFC 7517 §8.5.1). */
const MEDIA_TYPES = 'application/json, application/jwk-set+json';

/** Milliseconds after which keys are fetched again: five minutes are promised, of which a fetch may take seconds. */
const MAX_AGE = 240_000;

/** The keys in use. */
interface Keys {
  /** Finds the key of a token. */
  readonly find: JWTVerifyGetKey;
  /** The JWK Set that has them. */
  readonly set: string;
  /** When the fetch began that returned it, on a clock that never steps back. */
  readonly fetched: number;
}

/** A fetch of the keys, which has begun. */
class Fetch {
  readonly begun = performance.now();
  state: 'running' | 'succeeded' | 'failed' = 'running';
  /** Requests that share it while it runs. */
  waiting = 0;
  /** Resolves when it has succeeded or failed. */
  readonly ended: Promise<unknown>;

  /** @param work resolves when the keys are in use, or rejects */
  constructor(work: Promise<void>) {
    this.ended = work.then(
      () => (this.state = 'succeeded'),
      () => (this.state = 'failed'),
    );
  }
}

/**
 * The signing keys of an issuer. They are fetched when they are too old, and when a token has an unknown key. Both share the
 * last fetch while it runs, and until a second after it began. A token whose key is unknown after that fetch is refused; if
 * the fetch failed, it gets error 503. Known keys stay in use while the issuer cannot be reached.
 */
export class IssuerKeys {
  readonly #logger = new Logger('Authentication');
  /** Undefined until the first fetch succeeds. */
  #keys: Keys | undefined;
  #lastFetch: Fetch | undefined;

  /**
   * @param issuer its discovery document names the JWK Set (OpenID Connect Discovery 1.0 §4)
   * @param jwksUrl the JWK Set itself, without discovery
   * @param onChange called when the issuer has announced or withdrawn a key
   */
  constructor(
    private readonly issuer: string,
    private readonly jwksUrl: URL | undefined,
    private readonly onChange: () => void,
  ) {}

  /**
   * Returns the key of a token to jose. A token waits for the issuer only if its key is unknown.
   *
   * @throws {ContractException} 503 if the key is unknown and the issuer cannot be reached, or too many requests wait
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.#findKnown(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await this.#waitForKeys();
    return this.#findKnown(header, token);
  };

  readonly #findKnown: JWTVerifyGetKey = (header, token) => {
    if (this.#keys === undefined) throw new errors.JWKSNoMatchingKey();
    return this.#keys.find(header, token);
  };

  /** Fetches the keys if they are too old: the issuer may have withdrawn one. If it cannot be reached, that is logged. */
  async refresh(): Promise<void> {
    const isRecent = this.#keys !== undefined && performance.now() - this.#keys.fetched < MAX_AGE;
    if (!isRecent) await this.#currentFetch().ended;
  }

  /**
   * Lets a request with an unknown key wait for the keys.
   *
   * @throws {ContractException} 503 if they cannot be fetched, or too many requests wait
   */
  async #waitForKeys(): Promise<void> {
    const current = this.#currentFetch();
    if (current.state === 'running') {
      if (current.waiting >= MAX_WAITING) throw new ContractException(503);
      current.waiting += 1;
      await current.ended;
    }
    if (current.state === 'failed') throw new ContractException(503);
  }

  /** Returns the last fetch while it runs, and until a second after it began. Then begins the next one. */
  #currentFetch(): Fetch {
    const last = this.#lastFetch;
    const mayBegin = last === undefined || (last.state !== 'running' && performance.now() - last.begun >= COOLDOWN);
    if (!mayBegin) return last;
    const next = new Fetch(this.#fetchKeys(last?.state === 'failed'));
    this.#lastFetch = next;
    return next;
  }

  /**
   * Fetches the keys, and takes them into use. The log has one line when the fetches begin to fail, and one when that ends.
   *
   * @param hasFailed true if the fetch before has failed
   * @throws if they cannot be fetched
   */
  async #fetchKeys(hasFailed: boolean): Promise<void> {
    const begun = performance.now();
    try {
      this.#take(await this.#download(), begun);
    } catch (error) {
      if (!hasFailed) this.#logger.error(`The keys of ${this.issuer} cannot be fetched: ${describe(error)}`);
      throw error;
    }
    if (hasFailed) this.#logger.log(`The keys of ${this.issuer} can be fetched again`);
  }

  /** Takes the keys into use. */
  #take(keySet: JSONWebKeySet, fetched: number): void {
    const find = createLocalJWKSet(keySet);
    const set = JSON.stringify(keySet);
    const hasChanged = set !== this.#keys?.set;
    this.#keys = { find, set, fetched };
    if (hasChanged) this.onChange();
  }

  /** Returns the answer of the issuer, of which `createLocalJWKSet` checks that it is a JWK Set. */
  async #download(): Promise<JSONWebKeySet> {
    const signal = AbortSignal.timeout(FETCH_TIMEOUT);
    const url = this.jwksUrl?.href ?? (await this.#discover(signal));
    return (await fetchJson(url, signal)) as JSONWebKeySet;
  }

  /** Returns the URL of the keys, which the discovery document of the issuer names. */
  async #discover(signal: AbortSignal): Promise<string> {
    const documentUrl = `${this.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const { issuer, jwks_uri: jwksUri } = (await fetchJson(documentUrl, signal)) as Record<string, unknown>;
    // OpenID Connect Discovery 1.0 §4.3: otherwise one issuer could speak for another.
    if (issuer !== this.issuer) throw new Error(`${documentUrl} names another issuer`);
    const url = URL.canParse(String(jwksUri)) ? new URL(String(jwksUri)) : undefined;
    if (url === undefined || !isHttpsOrLoopback(url)) throw new Error(`${documentUrl} has no https URL as jwks_uri`);
    return url.href;
  }
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  // A redirect could lead into the operator's own network.
  const response = await fetch(url, { signal, redirect: 'manual', headers: { Accept: MEDIA_TYPES } });
  if (response.status !== 200) {
    // Otherwise its connection stays open until the garbage collection.
    await response.body?.cancel().catch(() => undefined);
    throw new Error(`${url} answers with status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_DOCUMENT) throw new Error(`${url} sends more than 1 MiB`);
    chunks.push(chunk);
  }
  return JSON.parse(new TextDecoder().decode(Buffer.concat(chunks)));
}

/** Describes an error in one line. fetch() puts the reason into the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
