import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { REFUSAL_CHANNEL, type AuthenticationRefused } from '../../src/auth/authentication.js';
import { digestToken, StaticTokens } from '../../src/auth/static-tokens.js';
import { TokenVerifiers } from '../../src/auth/token-verifier.js';
import { TOKEN } from './client.js';
import { ask } from './connections.js';
import { AUDIENCE, IdentityProvider, newKey } from './identity-provider.js';
import { type Service, startService } from './service.js';

/** A service that accepts TOKEN and the access tokens of an identity provider. */
export class JwtService {
  /** Why the service refused tokens, in the order of the refusals. */
  readonly reasons: string[] = [];

  private constructor(
    readonly provider: IdentityProvider,
    readonly rsa: JWK,
    readonly ec: JWK,
    readonly verifier: JwtVerifier,
    readonly service: Service,
  ) {
    subscribe(REFUSAL_CHANNEL, this.#note);
  }

  static async start(rsa: JWK, ec: JWK): Promise<JwtService> {
    const provider = new IdentityProvider();
    await provider.start([rsa, ec]);
    const verifier = new JwtVerifier({ issuer: provider.issuer, audience: AUDIENCE });
    const service = await startService({
      verifier: new TokenVerifiers([new StaticTokens([{ name: 'tests', digest: digestToken(TOKEN) }]), verifier]),
    });
    return new JwtService(provider, rsa, ec, verifier, service);
  }

  /** Creates a plant, and returns the error number of the answer, or 200. */
  create(token: string, target = this.service): Promise<number | undefined> {
    return ask(target.url, token);
  }

  /** Returns valid claims with these changes; undefined leaves a claim out. */
  claims(changes: Record<string, unknown> = {}): JWTPayload {
    const valid = {
      iss: this.provider.issuer,
      aud: AUDIENCE,
      sub: 'ci',
      scope: 'plants:write',
      iat: now(),
      exp: now() + 300,
    };
    return { ...valid, ...changes };
  }

  async sign(payload: JWTPayload, header: Record<string, unknown> = {}, key = this.rsa): Promise<string> {
    const { alg = '', kid = '' } = key;
    return new SignJWT(payload)
      .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header })
      .sign(await importJWK(key, alg));
  }

  async stop(): Promise<void> {
    unsubscribe(REFUSAL_CHANNEL, this.#note);
    await this.service.close();
    await this.provider.stop();
  }

  readonly #note = (message: unknown): void => void this.reasons.push((message as AuthenticationRefused).reason);
}

/** Creates the keys of a provider: one for RS256, one for ES256. */
export function providerKeys(): Promise<[JWK, JWK]> {
  return Promise.all([newKey('RS256', 'first'), newKey('ES256', 'elliptic')]);
}

/** Returns the current time in seconds, as in claims. */
export function now(): number {
  return Math.floor(Date.now() / 1_000);
}
