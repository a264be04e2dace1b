import { hash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { ContractException } from '../errors/contract.exception.js';
import { IssuerKeys } from './issuer-keys.js';
import type { JwtSettings, JwtType } from './jwt-settings.js';
import type { Principal } from './principal.js';
import { type Refusal, TokenRefused, TokenVerifier, type Verdict } from './token-verifier.js';

/** Signatures with a key pair (RFC 7518 §3.1, RFC 8037, RFC 9864): whoever can verify those cannot forge them. */
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

/** Headers by which a token brings its own key, or changes what a header means (RFC 7515 §4.1, RFC 8725 §3.10). */
const FORBIDDEN_HEADERS = ['jwk', 'jku', 'x5c', 'x5u', 'crit'];

/** Seconds by which the issuer's clock and ours may differ. */
const TOLERANCE = 30;

/** Tokens that are not verified a second time; beyond, the one that was verified first is. */
const MAX_VERIFIED = 10_000;

/** Verifies access tokens of one issuer (RFC 7519, RFC 9068, with the care of RFC 8725). */
export class JwtVerifier extends TokenVerifier {
  readonly #settings: JwtSettings;
  readonly #keys: IssuerKeys;
  /** By digest. */
  #verified = new Map<string, Principal>();

  constructor(settings: JwtSettings) {
    super();
    this.#settings = settings;
    this.#keys = new IssuerKeys(settings.issuer, settings.jwksUrl, () => {
      // A key may have been withdrawn. What is being verified with it goes to the old map.
      this.#verified = new Map();
    });
  }

  override async verify(token: string): Promise<Verdict> {
    if (token.split('.', 4).length !== 3) return 'unknown';
    await this.#keys.refresh();
    const digest = hash('sha256', token, 'base64');
    const verified = this.#verified;
    const known = verified.get(digest);
    if (known !== undefined) return known;
    try {
      const principal = await this.#principalOf(token);
      const [oldest] = verified.keys();
      if (verified.size >= MAX_VERIFIED && oldest !== undefined) verified.delete(oldest);
      verified.set(digest, principal);
      return principal;
    } catch (error) {
      if (error instanceof ContractException) throw error;
      return reasonOf(error);
    }
  }

  async #principalOf(token: string): Promise<Principal> {
    const { issuer, audience, type = 'at+jwt' } = this.#settings;
    const header = headerOf(token);
    if (FORBIDDEN_HEADERS.some((name) => name in header)) throw new TokenRefused('forbidden-header');
    if (!isOfType(type, header.typ)) throw new TokenRefused('wrong-type');
    // Before any key is fetched or used for a stranger's token.
    this.#screen(decodeJwt(token));
    const { payload } = await jwtVerify(token, this.#keys.find, {
      algorithms: ALGORITHMS,
      issuer,
      audience,
      requiredClaims: ['exp'],
      clockTolerance: TOLERANCE,
    });
    if (payload.iat !== undefined && payload.iat > Date.now() / 1_000 + TOLERANCE)
      throw new TokenRefused('not-yet-valid');
    const { sub, client_id: client, scope, exp = 0 } = payload;
    const name = sub ?? client ?? issuer;
    if (typeof name !== 'string') throw new TokenRefused('wrong-claim');
    return {
      name,
      // RFC 9068 §2.2.3; a JWT without scopes was granted none.
      scopes: typeof scope === 'string' ? scope.split(' ') : [],
      expires: new Date((exp + TOLERANCE) * 1_000),
    };
  }

  /** @throws {TokenRefused} when no signature could save these claims */
  #screen({ iss, aud, exp }: JWTPayload): void {
    if (iss !== this.#settings.issuer) throw new TokenRefused('wrong-issuer');
    if (![aud].flat().includes(this.#settings.audience)) throw new TokenRefused('wrong-audience');
    if (typeof exp !== 'number') throw new TokenRefused('wrong-claim');
    if (exp <= Date.now() / 1_000 - TOLERANCE) throw new TokenRefused('expired');
  }
}

function headerOf(token: string): ReturnType<typeof decodeProtectedHeader> {
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw new TokenRefused('malformed');
  }
}

/** RFC 7515 §4.1.9: the media type, in any case, with or without `application/`. */
function isOfType(type: JwtType, typ: unknown): boolean {
  if (typ === undefined) return type === 'JWT';
  return typeof typ === 'string' && typ.toLowerCase().replace(/^application\//, '') === type.toLowerCase();
}

function reasonOf(error: unknown): Refusal {
  if (error instanceof TokenRefused) return error.reason;
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'nbf' && error.reason === 'check_failed' ? 'not-yet-valid' : 'wrong-claim';
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'wrong-algorithm';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'wrong-signature';
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return 'malformed';
  // The issuer has no such key, or several, or one that cannot be used: RSA below 2048 bits, for example.
  return 'unknown-key';
}
