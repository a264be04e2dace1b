import { Logger } from '@nestjs/common';
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, type RemoteJWKSet } from 'jose';
import { ContractException } from '../contract/contract.exception.js';
import { isHttpsOrLoopback } from '../loopback-host.js';

/**
 * Milliseconds from the beginning of a reload to the next one, so that tokens with invented keys do not flood the issuer. In
 * this second, a token with a new key is refused.
 */
const COOLDOWN = 1_000;

/** Milliseconds for the issuer to answer: many times what an issuer takes, and less than most clients wait. */
const TIMEOUT = 5_000;

/** Maximum bytes of a document of the issuer: a hundred times what an issuer sends. */
const MAX_DOCUMENT = 1_048_576;

/**
 * Requests that may wait for one reload. Each holds a connection and, if its body is sent in chunks of one byte, 6 MB: the
 * chunks that Node has parsed.
 */
const MAX_ADMITTED = 20;

/** Milliseconds after which keys are reloaded: less than the promised five minutes, because a reload may take seconds. */
const MAX_AGE = 240_000;

/**
 * A reload of the keys.
 *
 * | state     | a request whose key is unknown                               | otherwise, the next reload begins |
 * |-----------|--------------------------------------------------------------|-----------------------------------|
 * | running   | waits for it, or gets error 503 if too many do               | never                             |
 * | succeeded | gets error 401 for a second; then it begins the next reload  | after four minutes                |
 * | failed    | gets error 503 for a second; then it begins the next reload  | at the next check of its age      |
 */
class Reload {
  state: 'running' | 'succeeded' | 'failed' = 'running';
  /** Resolves when the reload has ended. */
  readonly ended: Promise<unknown>;
  /** Requests that were allowed to wait for it, including those whose clients have disconnected since. */
  admitted = 0;

  /** On a clock that never steps back. */
  readonly #begun = performance.now();

  constructor(loading: Promise<unknown>) {
    this.ended = loading.then(
      () => (this.state = 'succeeded'),
      () => (this.state = 'failed'),
    );
  }

  /** True if requests join this reload instead of the next one. */
  get mayBeJoined(): boolean {
    return this.state === 'running' || performance.now() - this.#begun < COOLDOWN;
  }

  /** True if the keys must be reloaded, even if no request needs a new one: the issuer may have withdrawn a key. */
  get isDue(): boolean {
    return this.state === 'failed' || performance.now() - this.#begun >= MAX_AGE;
  }
}

/**
 * The signing keys of an issuer: jose's remote key set, which keeps its keys if a reload fails. `reloadIfDue` needs a
 * reload if one is due, and `find` if a token has an unknown key. Both join the last reload if they may, or begin the next.
 */
export class IssuerKeys {
  readonly #logger = new Logger('Authentication');
  readonly #keySet: RemoteJWKSet;
  #lastReload: Reload | undefined;
  /** The keys in use, as JSON. */
  #json: string | undefined;
  #version = 0;

  /**
   * @param issuer the URL of the issuer, whose discovery document names the JWK Set (OpenID Connect Discovery 1.0 §4)
   * @param jwksUrl the URL of the JWK Set, which replaces discovery
   */
  constructor(
    private readonly issuer: string,
    private readonly jwksUrl: URL | undefined,
  ) {
    const source = jwksUrl ?? new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    this.#keySet = createRemoteJWKSet(source, {
      timeoutDuration: TIMEOUT,
      // #currentReload decides when to fetch: jose would repeat a failed fetch for each token, and its clock may step back.
      cooldownDuration: Infinity,
      cacheMaxAge: Infinity,
      [customFetch]: (url, options) => this.#fetchKeySet(url, options),
    });
  }

  /** Grows when the issuer has announced or withdrawn a key. */
  get version(): number {
    return this.#version;
  }

  /**
   * Returns the key of a token to jose. A token waits for the issuer only if its key is unknown.
   *
   * @throws {ContractException} 503 if the key is unknown and the issuer cannot be reached, or too many requests have waited
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (await this.#isUnknown(header, token)) {
      const hasBegunBefore = this.#lastReload?.state === 'running';
      await this.#waitForReload();
      // A slow reload that had begun before may have fetched the keys before this one was published.
      if (hasBegunBefore && (await this.#isUnknown(header, token))) await this.#waitForReload();
    }
    return this.#keySet(header, token);
  };

  async #isUnknown(...[header, token]: Parameters<JWTVerifyGetKey>): Promise<boolean> {
    // Loaded keys stay fresh, because `cacheMaxAge` is infinite. Without keys, jose would fetch them.
    if (!this.#keySet.fresh) return true;
    try {
      await this.#keySet(header, token);
      return false;
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey;
    }
  }

  /** Reloads the keys if that is due. */
  async reloadIfDue(): Promise<void> {
    if (this.#lastReload?.isDue !== false) await this.#currentReload().ended;
  }

  /**
   * Waits for the current reload. Counts the request towards those that may wait while the reload runs.
   *
   * @throws {ContractException} 503 if too many requests have waited, or if the reload fails
   */
  async #waitForReload(): Promise<void> {
    const reload = this.#currentReload();
    if (reload.state === 'running') {
      reload.admitted += 1;
      if (reload.admitted > MAX_ADMITTED) throw new ContractException(503);
    }
    await reload.ended;
    if (reload.state === 'failed') throw new ContractException(503);
  }

  /** Returns the last reload if it may be joined. Otherwise, begins the next one. */
  #currentReload(): Reload {
    const last = this.#lastReload;
    if (last?.mayBeJoined === true) return last;
    this.#lastReload = new Reload(this.#load(last?.state === 'failed'));
    return this.#lastReload;
  }

  /**
   * Fetches the keys. Logs the first failure, and the first success after it.
   *
   * @param isFailing true if the reload before has failed
   */
  async #load(isFailing: boolean): Promise<void> {
    try {
      await this.#keySet.reload();
    } catch (error) {
      if (!isFailing) this.#logger.error(`The keys of ${this.issuer} cannot be fetched: ${describe(error)}`);
      throw error;
    }
    const json = JSON.stringify(this.#keySet.jwks());
    if (json !== this.#json) this.#version += 1;
    this.#json = json;
    if (isFailing) this.#logger.log(`The keys of ${this.issuer} can be fetched again`);
  }

  /** @param url the URL of the keys or, with discovery, of the document that names their URL */
  async #fetchKeySet(url: string, options: RequestInit): Promise<Response> {
    const document = await fetchDocument(url, options);
    if (this.jwksUrl !== undefined) return document;
    const { issuer, jwks_uri: jwksUri } = (await document.json()) as Record<string, unknown>;
    // One issuer must not speak for another (OpenID Connect Discovery 1.0 §4.3).
    if (issuer !== this.issuer) throw new Error(`${nameOf(url)} names another issuer`);
    const keysUrl = URL.canParse(String(jwksUri)) ? new URL(String(jwksUri)) : undefined;
    if (keysUrl === undefined || !isHttpsOrLoopback(keysUrl)) {
      throw new Error(`${nameOf(url)} has no https URL as jwks_uri`);
    }
    return fetchDocument(keysUrl.href, options);
  }
}

/** @param options the options of jose, which forbid redirects: one could lead into the operator's own network */
async function fetchDocument(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  if (response.status !== 200) {
    // An unread body would keep its connection open until it is garbage-collected.
    await response.body?.cancel().catch(() => undefined);
    throw new Error(`${nameOf(url)} answers with status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_DOCUMENT) throw new Error(`${nameOf(url)} sends more than 1 MiB`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks));
}

/** Returns a URL for the log, without the query, which may have a secret. */
function nameOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Describes an error in one line, with its cause, where `fetch` puts the reason. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
