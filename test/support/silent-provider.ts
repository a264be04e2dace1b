import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Variables } from './node-process.js';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'https://plants.example';

/** An identity provider that accepts connections and sends nothing. */
export class SilentProvider {
  readonly #server = createServer();

  /** Returns a provider that listens during the tests of the spec file. */
  static ofSuite(): SilentProvider {
    const provider = new SilentProvider();
    beforeAll(async () => {
      await once(provider.#server.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(() => {
      provider.#server.close();
    });
    return provider;
  }

  /** Returns variables with which a service accepts its tokens. */
  variables(): Variables {
    const { port } = this.#server.address() as AddressInfo;
    return { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: `http://127.0.0.1:${port}/` };
  }
}

/** Returns an unsigned JWT, for whose key the service asks the provider. */
export function jwtOfUnknownKey(): string {
  const header = { alg: 'RS256', typ: 'at+jwt', kid: 'unknown' };
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'a stranger', exp: 9_999_999_999 };
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return [...parts, 'c2lnbmF0dXJl'].join('.');
}
