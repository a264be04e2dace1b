import { createPublicKey, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import type { JWK } from 'jose';
import { newKey } from '../support/identity-provider.js';
import { encode, forge, hmac, JwtService, now, providerKeys } from '../support/jwt-service.js';

let jwt: JwtService;
let keys: [JWK, JWK];

beforeAll(async () => {
  keys = await providerKeys();
  jwt = await JwtService.start(...keys);
});

afterEach(async () => {
  jwt.reasons.length = 0;
  expect(await jwt.service.rows()).toEqual([]);
});

afterAll(() => jwt.stop());

function publicPem(): string {
  return createPublicKey({ key: { kty: 'RSA', n: jwt.rsa.n ?? '', e: jwt.rsa.e ?? '' }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
}

/** A valid header. */
const HEADER = { alg: 'RS256', kid: 'first', typ: 'at+jwt' };

/** Attacks of RFC 8725, and others that have happened; jose's own tests have many more. */
const ATTACKS: readonly [string, string, () => string | Promise<string>][] = [
  ['alg none', 'wrong-algorithm', () => forge({ alg: 'none', typ: 'at+jwt' }, jwt.claims())],
  [
    'HS256 with the public key as the secret',
    'wrong-algorithm',
    () => hmac({ ...HEADER, alg: 'HS256' }, jwt.claims(), publicPem()),
  ],
  [
    'a foreign key with a known kid',
    'wrong-signature',
    async () => jwt.sign(jwt.claims(), {}, await newKey('RS256', 'first')),
  ],
  [
    'tampered claims',
    'wrong-signature',
    async () => {
      const [header = '', , signature] = (await jwt.sign(jwt.claims({ scope: 'plants:read' }))).split('.');
      return `${header}.${encode(jwt.claims())}.${signature ?? ''}`;
    },
  ],
  ['a foreign issuer', 'wrong-issuer', () => jwt.sign(jwt.claims({ iss: 'https://elsewhere.example.com' }))],
  [
    'an issuer that starts with the right one',
    'wrong-issuer',
    () => jwt.sign(jwt.claims({ iss: `${jwt.provider.issuer}/` })),
  ],
  ['another audience', 'wrong-audience', () => jwt.sign(jwt.claims({ aud: 'https://other.example.com' }))],
  ['no exp', 'wrong-claim', () => jwt.sign(jwt.claims({ exp: undefined }))],
  ['exp in the past', 'expired', () => jwt.sign(jwt.claims({ exp: now() - 31 }))],
  ['nbf in the future', 'not-yet-valid', () => jwt.sign(jwt.claims({ nbf: now() + 60 }))],
  ['nbf that is a string', 'wrong-claim', () => jwt.sign(jwt.claims({ nbf: '0' }))],
  ['iat in the future', 'not-yet-valid', () => jwt.sign(jwt.claims({ iat: now() + 60 }))],
  ['sub that is an object', 'wrong-claim', () => jwt.sign(jwt.claims({ sub: { toString: 'ci' } }))],
  ['an ID token, by its type JWT', 'wrong-type', () => jwt.sign(jwt.claims(), { typ: 'JWT' })],
  ['no type', 'wrong-type', () => jwt.sign(jwt.claims(), { typ: undefined })],
  [
    'an embedded key (jwk)',
    'forbidden-header',
    () => jwt.sign(jwt.claims(), { jwk: { kty: jwt.rsa.kty, n: jwt.rsa.n, e: jwt.rsa.e } }),
  ],
  ['a URL of keys (jku)', 'forbidden-header', () => jwt.sign(jwt.claims(), { jku: `${jwt.provider.issuer}/planted` })],
  ['a certificate (x5c)', 'forbidden-header', () => jwt.sign(jwt.claims(), { x5c: ['MIIB'] })],
  [
    'a URL of certificates (x5u)',
    'forbidden-header',
    () => jwt.sign(jwt.claims(), { x5u: `${jwt.provider.issuer}/planted` }),
  ],
  [
    'an unknown critical header',
    'forbidden-header',
    () => forge({ ...HEADER, crit: ['x'], x: 1 }, jwt.claims(), 'AAAA'),
  ],
  ['an unknown kid', 'unknown-key', () => jwt.sign(jwt.claims(), { kid: '../../../../dev/null' })],
  ['claims that are not JSON', 'malformed', () => forge(HEADER, '{"iss":', 'AAAA')],
  ['a header that is not JSON', 'malformed', () => forge('{', jwt.claims(), 'AAAA')],
];

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

describe('An attack', () => {
  it.each(ATTACKS)('is refused with error 401 and without the reason: %s (%s)', async (_what, reason, attack) => {
    const response = await fetch(`${jwt.service.url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${await attack()}`, 'Content-Type': 'application/json' },
      body: '{"id":1,"name":"Monstera"}',
    });

    // The answers do not tell attacks apart.
    expect(response.status).toBe(400);
    expect(await response.text()).toBe(
      '{"error":401,"message":"A valid token is required: send the header \\"Authorization: Bearer <ACCESS_TOKEN>\\"."}',
    );
    expect(Object.fromEntries([...response.headers].filter(([name]) => name !== 'date'))).toEqual({
      'cache-control': 'no-store',
      connection: 'close',
      'content-length': '110',
      'content-type': 'application/json',
      'www-authenticate': 'Bearer realm="plants", error="invalid_token"',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(UUID) as unknown,
    });
    expect(jwt.reasons).toEqual([reason]);
    expect(jwt.provider.requests).not.toContain('/planted');
  });

  it('with a published key that is too short is refused', async () => {
    // RFC 7518 §3.3 requires 2,048 bits.
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const { kty, n, e } = privateKey.export({ format: 'jwk' });
    const other = await JwtService.start(...keys);
    other.provider.reply = (path) =>
      path === '/jwks' ? { body: JSON.stringify({ keys: [{ kty, n, e, kid: 'short', alg: 'RS256' }] }) } : {};
    const content = `${encode({ ...HEADER, kid: 'short' })}.${encode(other.claims())}`;
    const signature = signBytes('sha256', Buffer.from(content), privateKey).toString('base64url');

    expect(await other.create(`${content}.${signature}`)).toBe(401);
    expect(other.reasons).toEqual(['unknown-key']);
    await other.stop();
  });
});
