import { hash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { ContractException } from '../contract/contract.exception.js';
import { IssuerKeys } from './issuer-keys.js';
import { assertJwtSettings, DEFAULT_JWT_TYPE, type JwtSettings, type JwtType } from './jwt-settings.js';
import type { Principal } from './principal.js';
import { type RefusalReason, TokenRefusedError, TokenVerifier, type VerificationResult } from './token-verifier.js';

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

/** Headers that carry a key, or that change the meaning of the token (RFC 7515 §4.1, RFC 8725 §3.10). */
const FORBIDDEN_HEADERS = ['jwk', 'jku', 'x5c', 'x5u', 'crit'];

/** Seconds of clock skew between the issuer and this process. */
const TOLERANCE = 30;

/** Verified tokens that are remembered. Beyond this, the oldest is verified again. */
const MAX_VERIFIED = 10_000;

/** Verifies access tokens of one issuer (RFC 7519, RFC 9068, RFC 8725). */
export class JwtVerifier extends TokenVerifier {
  readonly #settings: JwtSettings;
  readonly #keys: IssuerKeys;
  /** Principals by token digest, oldest first; verifyToken checks their expiry. */
  #verified = new Map<string, Principal>();

  /** @throws {TypeError} at the first setting that is wrong */
  constructor(settings: JwtSettings) {
    super();
    assertJwtSettings(settings);
    this.#settings = settings;
    this.#keys = new IssuerKeys(settings.issuer, settings.jwksUrl, () => {
      // A key may have been withdrawn. Verifications in progress still write to the old map.
      this.#verified = new Map();
    });
  }

  override async verify(token: string): Promise<VerificationResult> {
    // A signed JWT has exactly three parts; leave other tokens to the other verifiers.
    if (token.split('.', 4).length !== 3) return 'unknown';
    await this.#keys.refresh();
    const digest = hash('sha256', token, 'base64');
    const verified = this.#verified;
    const known = verified.get(digest);
    if (known !== undefined) return known;
    try {
      const principal = await this.#authenticate(token);
      const [oldest] = verified.keys();
      if (verified.size >= MAX_VERIFIED && oldest !== undefined) verified.delete(oldest);
      verified.set(digest, principal);
      return principal;
    } catch (error) {
      if (error instanceof ContractException) throw error;
      return refusalReason(error);
    }
  }

  async #authenticate(token: string): Promise<Principal> {
    const { issuer, audience, type = DEFAULT_JWT_TYPE } = this.#settings;
    const header = decodeHeader(token);
    if (FORBIDDEN_HEADERS.some((name) => name in header)) throw new TokenRefusedError('forbidden-header');
    if (!hasType(type, header.typ)) throw new TokenRefusedError('wrong-type');
    // First the claims, so that a forged token does not make us fetch or use a key.
    this.#checkClaims(decodeJwt(token));
    const { payload } = await jwtVerify(token, this.#keys.find, {
      algorithms: ALGORITHMS,
      issuer,
      audience,
      requiredClaims: ['exp'],
      clockTolerance: TOLERANCE,
    });
    if (payload.iat !== undefined && payload.iat > Date.now() / 1_000 + TOLERANCE)
      throw new TokenRefusedError('not-yet-valid');
    const { sub, client_id: client, scope, exp = 0 } = payload;
    const name = sub ?? client ?? issuer;
    if (typeof name !== 'string') throw new TokenRefusedError('wrong-claim');
    return {
      name,
      // RFC 9068 §2.2.3: a JWT without `scope` was granted nothing.
      scopes: typeof scope === 'string' ? scope.split(' ') : [],
      expires: new Date((exp + TOLERANCE) * 1_000),
    };
  }

  /** @throws {TokenRefusedError} if the token is not valid, even with a valid signature */
  #checkClaims({ iss, aud, exp }: JWTPayload): void {
    if (iss !== this.#settings.issuer) throw new TokenRefusedError('wrong-issuer');
    if (![aud].flat().includes(this.#settings.audience)) throw new TokenRefusedError('wrong-audience');
    if (typeof exp !== 'number') throw new TokenRefusedError('wrong-claim');
    if (exp <= Date.now() / 1_000 - TOLERANCE) throw new TokenRefusedError('expired');
  }
}

function decodeHeader(token: string): ReturnType<typeof decodeProtectedHeader> {
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw new TokenRefusedError('malformed');
  }
}

/** RFC 7515 §4.1.9: `typ` is a media type, case-insensitive, with or without `application/`. */
function hasType(type: JwtType, typ: unknown): boolean {
  if (typ === undefined) return type === 'JWT';
  return typeof typ === 'string' && typ.toLowerCase().replace(/^application\//, '') === type.toLowerCase();
}

function refusalReason(error: unknown): RefusalReason {
  if (error instanceof TokenRefusedError) return error.reason;
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'nbf' && error.reason === 'check_failed' ? 'not-yet-valid' : 'wrong-claim';
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'wrong-algorithm';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'wrong-signature';
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return 'malformed';
  // The issuer has no such key, several, or an unusable one such as RSA with less than 2048 bits.
  return 'unknown-key';
}
