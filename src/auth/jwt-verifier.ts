import { hash } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTVerifyOptions, type RemoteJWKSet } from 'jose';
import { faultOf, type JwtSettings, toPrincipal } from './access-token.js';
import { createIssuerKeys } from './issuer-keys.js';
import { type Principal, type Refusal, TokenVerifier, type VerificationResult } from './token-verifier.js';

/** Seconds of clock skew between the issuer and this process: clocks with NTP differ by less than one. */
const TOLERANCE = 30;

const RULES: JWTVerifyOptions = {
  // Asymmetric signatures (RFC 7518 §3.1, RFC 8037, RFC 9864): a key that verifies them cannot forge them.
  algorithms: 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' '),
  requiredClaims: ['exp'],
  clockTolerance: TOLERANCE,
};

/**
 * Milliseconds between two reloads of the keys: a withdrawn key is refused within five minutes, if the issuer answers.
 */
const RELOAD_INTERVAL = 240_000;

/**
 * Maximum verified tokens in the cache, without which a create takes two to three times the CPU (measured). So many,
 * with few scopes, occupy about 5 MB. A full cache is cleared.
 */
const MAX_VERIFIED = 10_000;

interface VerifiedToken {
  readonly principal: Principal;
  /** Seconds since 1970, see RFC 7519 §4.1.4. */
  readonly exp: number | undefined;
}

/** Verifies access tokens of one issuer (RFC 7519, RFC 9068, RFC 8725). */
export class JwtVerifier extends TokenVerifier {
  readonly #keys: RemoteJWKSet;
  readonly #timer: NodeJS.Timeout;
  /** The verified tokens, by their digests. A reload of the keys replaces the map: one may have been withdrawn. */
  #verified = new Map<string, VerifiedToken>();

  /** @throws {TypeError} if an issuer or an audience is missing, as it may be in JavaScript */
  constructor(private readonly settings: JwtSettings) {
    super();
    const required = [settings.issuer, settings.audience].flat();
    if (required.some((text) => !text)) throw new TypeError('JwtVerifier: issuer and audience are required');
    this.#keys = createIssuerKeys(settings);
    // A verifier of a host may wrap this one and not pass on `onModuleInit`, but must still refuse withdrawn keys.
    this.#timer = setInterval(() => void this.#reload(), RELOAD_INTERVAL).unref();
  }

  /** Begins to fetch the keys. A token that comes before they are there waits for them. */
  override onModuleInit(): void {
    void this.#reload();
  }

  override onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  override async verify(token: string): Promise<VerificationResult> {
    // A signed JWT has exactly three parts; leave other tokens to the other verifiers.
    if (token.split('.', 4).length !== 3) return undefined;
    // A token that is verified with the old keys, while they are reloaded, must not come into the new map.
    const verified = this.#verified;
    const digest = hash('sha256', token, 'base64');
    const known = verified.get(digest);
    if (known !== undefined && !isExpired(known)) return known.principal;
    try {
      // The claims come first: a token of another issuer, or for another service, is no reason to fetch keys.
      const fault = faultOf(decodeProtectedHeader(token), decodeJwt(token), this.settings);
      if (fault !== undefined) return { refused: 'invalid', detail: fault };
      const { payload } = await jwtVerify(token, this.#keys, RULES);
      if (verified.size >= MAX_VERIFIED) verified.clear();
      const principal = toPrincipal(payload);
      // Not all claims: a list of groups may take kilobytes.
      verified.set(digest, { principal, exp: payload.exp });
      return principal;
    } catch (error) {
      return explain(error);
    }
  }

  async #reload(): Promise<void> {
    // If the keys cannot be fetched, createIssuerKeys logs the reason, and the known ones stay in use.
    await this.#keys.reload().catch(() => undefined);
    this.#verified = new Map();
  }
}

function isExpired({ exp = 0 }: VerifiedToken): boolean {
  return exp + TOLERANCE <= Date.now() / 1_000;
}

/** @throws {HttpException} if the keys cannot be fetched */
function explain(error: unknown): Refusal {
  if (error instanceof HttpException) throw error;
  if (error instanceof errors.JWTExpired) {
    // jose checks `exp` last, so the rest of the token is valid.
    return { refused: 'expired', detail: `its holder is ${toPrincipal(error.payload).name}` };
  }
  // jose throws a TypeError if the key that the issuer has published is too weak.
  return { refused: 'invalid', detail: (error as Error).message };
}
