import { Logger } from '@nestjs/common';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  type JSONWebKeySet,
  type RemoteJWKSet,
} from 'jose';
import { ContractException } from '../contract/contract.exception.js';
import { isHttpsOrLoopback } from './jwt-settings.js';

/** From jose, with `redirect: manual`: a redirect could lead into the operator's own network. */
type FetchOptions = Parameters<FetchImplementation>[1];

/** The signing keys of an issuer, fetched when a token first needs one, and again when a token has an unknown one. */
export class IssuerKeys {
  /** @throws {ContractException} 503 if the issuer cannot be reached */
  readonly keySet: RemoteJWKSet;
  readonly #logger = new Logger('Authentication');
  #isFailing = false;

  /**
   * @param issuer its discovery document names the JWK Set (OpenID Connect Discovery 1.0 §4)
   * @param jwksUrl the JWK Set itself, without discovery
   */
  constructor(
    private readonly issuer: string,
    private readonly jwksUrl: URL | undefined,
  ) {
    this.keySet = createRemoteJWKSet(jwksUrl ?? new URL(issuer), {
      // Known keys stay in use while the issuer cannot be reached.
      cacheMaxAge: Infinity,
      cooldownDuration: 1_000,
      [customFetch]: (_url, options) => this.#fetch(options),
    });
  }

  async #fetch(options: FetchOptions): Promise<Response> {
    try {
      const keys = await download(this.jwksUrl ?? (await this.#discover(options)), options);
      // Throws if it is not a JWK Set.
      createLocalJWKSet(keys as JSONWebKeySet);
      if (this.#isFailing) this.#logger.log(`The keys of ${this.issuer} can be fetched again`);
      this.#isFailing = false;
      return Response.json(keys);
    } catch (error) {
      if (!this.#isFailing) this.#logger.error(`The keys of ${this.issuer} cannot be fetched: ${describe(error)}`);
      this.#isFailing = true;
      throw new ContractException(503);
    }
  }

  async #discover(options: FetchOptions): Promise<URL> {
    const document = new URL(`${this.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const { issuer, jwks_uri: jwksUri } = (await download(document, options)) as Record<string, unknown>;
    // OpenID Connect Discovery 1.0 §4.3: otherwise one issuer could speak for another.
    if (issuer !== this.issuer) throw new Error(`${document.href} names another issuer`);
    const url = URL.canParse(String(jwksUri)) ? new URL(String(jwksUri)) : undefined;
    if (url === undefined || !isHttpsOrLoopback(url)) throw new Error(`${document.href} has no https URL as jwks_uri`);
    return url;
  }
}

async function download(url: URL, options: FetchOptions): Promise<unknown> {
  const response = await fetch(url, options);
  if (response.status !== 200) throw new Error(`${url.href} answers with status ${response.status}`);
  return response.json();
}

/** Describes an error in one line. fetch() puts the reason into the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
