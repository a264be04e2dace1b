import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose';
import { ContractException } from '../contract/contract.exception.js';
import { IssuerKeys } from './issuer-keys.js';
import { assertJwtSettings, DEFAULT_JWT_TYPE, type JwtSettings } from './jwt-settings.js';
import {
  type Principal,
  type RefusalReason,
  TokenVerifier,
  unlessExpired,
  type VerificationResult,
} from './token-verifier.js';

/** Asymmetric signatures (RFC 7518 §3.1, RFC 8037, RFC 9864): a key that verifies them cannot forge them. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Seconds of clock skew between the issuer and this process: clocks with NTP differ by less than one. */
const TOLERANCE = 30;

/**
 * Maximum verified tokens in the cache: verifying a signature takes longer than a create. So many, with few scopes, occupy
 * about 5 MB. A full cache is cleared.
 */
const MAX_VERIFIED = 10_000;

/** Milliseconds between two checks whether the keys are too old. After a failed fetch, the next check repeats it. */
const CHECK_INTERVAL = 10_000;

/** Milliseconds that the start waits for the keys: many times what an issuer takes, and no long outage of static tokens. */
const START_WAIT = 1_000;

/** Reasons by the code of jose's error. Any other code means that no key of the issuer fits the token. */
const REASONS: Readonly<Record<string, RefusalReason>> = {
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
  ERR_JOSE_ALG_NOT_ALLOWED: 'wrong-algorithm',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'wrong-signature',
  // The token has a critical extension (RFC 7515 §4.1.11).
  ERR_JOSE_NOT_SUPPORTED: 'malformed',
  ERR_JWK_INVALID: 'unusable-key',
};

/** The last instant of a Date in milliseconds; negated, it is the first one (ECMAScript, Time Values and Time Range). */
const LAST_INSTANT = 8_640_000_000_000_000;

/** Verifies access tokens of one issuer (RFC 7519, RFC 9068, RFC 8725). */
export class JwtVerifier extends TokenVerifier {
  readonly #settings: JwtSettings;
  readonly #keys: IssuerKeys;
  readonly #timer: NodeJS.Timeout;
  /** Principals, including those of expired tokens, by the digest of the token and the version of the keys. */
  readonly #verified = new Map<string, Principal>();

  /** @throws {TypeError} at the first setting that is wrong */
  constructor(settings: JwtSettings) {
    super();
    assertJwtSettings(settings);
    this.#settings = settings;
    this.#keys = new IssuerKeys(settings.issuer, settings.jwksUrl);
    // A host's own verifier may wrap this one and not pass on `onModuleInit`, but must still refuse withdrawn keys.
    this.#timer = setInterval(() => void this.#keys.reloadIfDue(), CHECK_INTERVAL).unref();
  }

  /** Fetches the keys, and waits for them for at most a second. */
  override async onModuleInit(): Promise<void> {
    // Without keys, most requests of many clients that connect again after a restart would be refused with error 503.
    await Promise.race([this.#keys.reloadIfDue(), wait(START_WAIT, undefined, { ref: false })]);
  }

  override onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  override async verify(token: string): Promise<VerificationResult> {
    // A signed JWT has exactly three parts; leave other tokens to the other verifiers.
    if (token.split('.', 4).length !== 3) return 'unknown';
    // A token is verified again when the keys have changed: its key may have been withdrawn.
    const digest = hash('sha256', `${this.#keys.version} ${token}`, 'base64');
    const known = this.#verified.get(digest);
    if (known !== undefined) return unlessExpired(known);
    const result = await this.#authenticate(token).catch(refusalReason);
    if (typeof result === 'string') return result;
    if (this.#verified.size >= MAX_VERIFIED) this.#verified.clear();
    this.#verified.set(digest, result);
    return unlessExpired(result);
  }

  async #authenticate(token: string): Promise<Principal | RefusalReason> {
    const { issuer, audience, type = DEFAULT_JWT_TYPE } = this.#settings;
    // The issuer is checked before the signature: a token of another issuer is no reason to fetch keys.
    if (decodeJwt(token).iss !== issuer) return 'wrong-issuer';
    const rules: JWTVerifyOptions = {
      algorithms: ALGORITHMS,
      issuer,
      audience,
      ...(type !== 'JWT' && { typ: type }),
      requiredClaims: ['exp'],
      clockTolerance: TOLERANCE,
    };
    const { iat = 0, sub, client_id: client, scope, exp = 0 } = await this.#claimsOf(token, rules);
    if (iat > Date.now() / 1_000 + TOLERANCE) return 'not-yet-valid';
    const name = sub ?? client ?? issuer;
    if (typeof name !== 'string') return 'wrong-claim';
    return {
      name,
      issuer,
      // RFC 9068 §2.2.3: a JWT without `scope` was granted nothing.
      scopes: typeof scope === 'string' ? scope.split(' ') : [],
      expires: new Date(Math.max(-LAST_INSTANT, Math.min((exp + TOLERANCE) * 1_000, LAST_INSTANT))),
    };
  }

  /** Returns the claims of a token that is valid or has only expired: the log names the holder of an expired token. */
  async #claimsOf(token: string, rules: JWTVerifyOptions): Promise<JWTPayload> {
    try {
      return await verifyToken(token, this.#keys, rules);
    } catch (error) {
      // jose checks `exp` last, so the rest of the token is valid.
      if (error instanceof errors.JWTExpired) return error.payload;
      throw error;
    }
  }
}

/**
 * Verifies a token, and returns its claims. As in jose, a wrong signature is no reason to fetch keys: an issuer announces
 * a new key by its `kid` (OpenID Connect Core 1.0 §10.1.1).
 */
async function verifyToken(token: string, keys: IssuerKeys, rules: JWTVerifyOptions): Promise<JWTPayload> {
  const findKey: JWTVerifyGetKey = (header, jws) => {
    // jose would accept the extension `b64` (RFC 7797), which no access token needs.
    if (header.crit !== undefined) throw new errors.JOSENotSupported('Critical extensions are not supported');
    return keys.find(header, jws);
  };
  try {
    return (await jwtVerify(token, findKey, rules)).payload;
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyWithEach(error, token, rules);
    if (error instanceof errors.JOSEError || error instanceof ContractException) throw error;
    // jose throws other errors at a key that it cannot use, such as RSA with 1,024 bits.
    throw new errors.JWKInvalid('The key cannot be used', { cause: error });
  }
}

/**
 * Verifies a token that does not name its key, so that several keys may fit. jose throws an error that iterates over these
 * keys: https://github.com/panva/jose/blob/main/docs/jwks/local/functions/createLocalJWKSet.md
 */
async function verifyWithEach(
  keys: errors.JWKSMultipleMatchingKeys,
  token: string,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, rules)).payload;
    } catch (error) {
      if (!isOfWrongKey(error)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

/** Returns whether another key may fit: this one has not signed the token, or jose cannot use it. */
function isOfWrongKey(error: unknown): boolean {
  return error instanceof errors.JWSSignatureVerificationFailed || !(error instanceof errors.JOSEError);
}

/** @throws errors that are not jose's: a ContractException if the keys cannot be fetched, or that of a defect */
function refusalReason(error: unknown): RefusalReason {
  if (!(error instanceof errors.JOSEError)) throw error;
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud') return 'wrong-audience';
    if (error.claim === 'typ') return 'wrong-type';
    return error.claim === 'nbf' && error.reason === 'check_failed' ? 'not-yet-valid' : 'wrong-claim';
  }
  return REASONS[error.code] ?? 'unknown-key';
}
