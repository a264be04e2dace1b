import { createPublicKey, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { base64url, CompactEncrypt, CompactSign, importJWK, type JWK } from 'jose';
import { AUDIENCE, newKey } from '../support/identity-provider.js';
import { encode, forge, hmac, JwtService, now, providerKeys } from '../support/jwt-service.js';

let jwt: JwtService;
let keys: [JWK, JWK];

beforeAll(async () => {
  keys = await providerKeys();
});

beforeEach(async () => {
  jwt = await JwtService.start(...keys);
});

afterEach(() => jwt.stop());

function publicPem(): string {
  return createPublicKey({ key: { kty: 'RSA', n: jwt.rsa.n ?? '', e: jwt.rsa.e ?? '' }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
}

/** Attacks of RFC 8725, and others that have happened. */
const ATTACKS: readonly [string, string, () => string | Promise<string>][] = [
  ['alg none', 'wrong-algorithm', () => forge({ alg: 'none', typ: 'at+jwt' }, jwt.claims())],
  ['alg None', 'wrong-algorithm', () => forge({ alg: 'None', typ: 'at+jwt' }, jwt.claims())],
  [
    'alg none with a signature',
    'wrong-algorithm',
    async () => forge({ alg: 'none', typ: 'at+jwt' }, jwt.claims(), (await jwt.sign(jwt.claims())).split('.')[2]),
  ],
  ['no alg', 'malformed', () => forge({ typ: 'at+jwt' }, jwt.claims(), 'AAAA')],
  ['alg that is not a string', 'malformed', () => forge({ alg: ['RS256'], typ: 'at+jwt' }, jwt.claims(), 'AAAA')],
  [
    'HS256 with the public key as the secret',
    'wrong-algorithm',
    () => hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, jwt.claims(), publicPem()),
  ],
  [
    'HS256 with the modulus as the secret',
    'wrong-algorithm',
    () => hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, jwt.claims(), jwt.rsa.n ?? ''),
  ],
  [
    'HS256 with an empty secret',
    'wrong-algorithm',
    () => hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, jwt.claims(), ''),
  ],
  [
    'RS256 with the key of ES256',
    'unknown-key',
    async () =>
      forge(
        { alg: 'RS256', kid: 'elliptic', typ: 'at+jwt' },
        jwt.claims(),
        (await jwt.sign(jwt.claims(), {}, jwt.ec)).split('.')[2],
      ),
  ],
  [
    'PS256 with a key for RS256',
    'unknown-key',
    () => forge({ alg: 'PS256', kid: 'first', typ: 'at+jwt' }, jwt.claims(), 'AAAA'),
  ],
  [
    'a foreign key with a known kid',
    'wrong-signature',
    async () => jwt.sign(jwt.claims(), {}, await newKey('RS256', 'first')),
  ],
  ['a stripped signature', 'wrong-signature', async () => (await jwt.sign(jwt.claims())).replace(/[^.]*$/, '')],
  ['a truncated signature', 'wrong-signature', async () => (await jwt.sign(jwt.claims())).slice(0, -8)],
  [
    'the signature of another token',
    'wrong-signature',
    async () =>
      [
        ...(await jwt.sign(jwt.claims())).split('.').slice(0, 2),
        (await jwt.sign(jwt.claims({ sub: 'other' }))).split('.')[2],
      ].join('.'),
  ],
  [
    'tampered claims',
    'wrong-signature',
    async () => {
      const [header = '', , signature] = (await jwt.sign(jwt.claims({ scope: 'plants:read' }))).split('.');
      return `${header}.${encode(jwt.claims())}.${signature ?? ''}`;
    },
  ],
  [
    'a tampered header',
    'wrong-signature',
    async () => {
      const [, payload = '', signature] = (await jwt.sign(jwt.claims())).split('.');
      return `${encode({ alg: 'RS256', kid: 'first', typ: 'at+jwt', x: 1 })}.${payload}.${signature ?? ''}`;
    },
  ],
  [
    'an ECDSA signature with r = s = 0',
    'wrong-signature',
    () => forge({ alg: 'ES256', kid: 'elliptic', typ: 'at+jwt' }, jwt.claims(), base64url.encode(new Uint8Array(64))),
  ],
  [
    'an ECDSA signature in DER',
    'wrong-signature',
    () =>
      forge(
        { alg: 'ES256', kid: 'elliptic', typ: 'at+jwt' },
        jwt.claims(),
        base64url.encode(Buffer.from('3006020101020101', 'hex')),
      ),
  ],
  ['a foreign issuer', 'wrong-issuer', () => jwt.sign(jwt.claims({ iss: 'https://elsewhere.example.com' }))],
  [
    'an issuer that starts with the right one',
    'wrong-issuer',
    () => jwt.sign(jwt.claims({ iss: `${jwt.provider.issuer}/` })),
  ],
  ['no issuer', 'wrong-issuer', () => jwt.sign(jwt.claims({ iss: undefined }))],
  ['several issuers', 'wrong-issuer', () => jwt.sign(jwt.claims({ iss: [jwt.provider.issuer] }))],
  ['another audience', 'wrong-audience', () => jwt.sign(jwt.claims({ aud: 'https://other.example.com' }))],
  ['no audience', 'wrong-audience', () => jwt.sign(jwt.claims({ aud: undefined }))],
  [
    'an audience that starts with the right one',
    'wrong-audience',
    () => jwt.sign(jwt.claims({ aud: `${AUDIENCE}.evil.example` })),
  ],
  ['an audience that is an object', 'wrong-audience', () => jwt.sign(jwt.claims({ aud: { [AUDIENCE]: true } }))],
  ['no exp', 'wrong-claim', () => jwt.sign(jwt.claims({ exp: undefined }))],
  ['exp that is a string', 'wrong-claim', () => jwt.sign(jwt.claims({ exp: `${now() + 300}` }))],
  ['exp that is null', 'wrong-claim', () => jwt.sign(jwt.claims({ exp: null }))],
  ['exp in the past', 'expired', () => jwt.sign(jwt.claims({ exp: now() - 31 }))],
  ['nbf in the future', 'not-yet-valid', () => jwt.sign(jwt.claims({ nbf: now() + 60 }))],
  ['nbf that is a string', 'wrong-claim', () => jwt.sign(jwt.claims({ nbf: '0' }))],
  ['iat in the future', 'not-yet-valid', () => jwt.sign(jwt.claims({ iat: now() + 60 }))],
  ['iat that is a string', 'wrong-claim', () => jwt.sign(jwt.claims({ iat: '0' }))],
  ['sub that is an object', 'wrong-claim', () => jwt.sign(jwt.claims({ sub: { toString: 'ci' } }))],
  ['the type of a logout token', 'wrong-type', () => jwt.sign(jwt.claims(), { typ: 'logout+jwt' })],
  ['an ID token, by its type JWT', 'wrong-type', () => jwt.sign(jwt.claims(), { typ: 'JWT' })],
  ['no type', 'wrong-type', () => jwt.sign(jwt.claims(), { typ: undefined })],
  [
    'an embedded key (jwk)',
    'unknown-key',
    async () => {
      const own = await newKey('RS256', 'own');
      return jwt.sign(jwt.claims(), { jwk: { kty: own.kty, n: own.n, e: own.e } }, own);
    },
  ],
  [
    'an embedded key of the issuer (jwk)',
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
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt', crit: ['x'], x: 1 }, jwt.claims(), 'AAAA'),
  ],
  [
    'an unencoded payload (RFC 7797)',
    'wrong-signature',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt', crit: ['b64'], b64: false }, jwt.claims(), 'AAAA'),
  ],
  ['a kid that is a path', 'unknown-key', () => jwt.sign(jwt.claims(), { kid: '../../../../dev/null' })],
  ['a kid that is SQL', 'unknown-key', () => jwt.sign(jwt.claims(), { kid: "x' UNION SELECT 'key" })],
  ['a kid that is a URL', 'unknown-key', () => jwt.sign(jwt.claims(), { kid: `${jwt.provider.issuer}/planted` })],
  ['a kid that is a property of Object.prototype', 'unknown-key', () => jwt.sign(jwt.claims(), { kid: '__proto__' })],
  [
    'a kid that is not a string',
    'unknown-key',
    () => forge({ alg: 'RS256', kid: { a: 1 }, typ: 'at+jwt' }, jwt.claims(), 'AAAA'),
  ],
  [
    'an encrypted token (JWE)',
    'unknown',
    async () =>
      new CompactEncrypt(Buffer.from(await jwt.sign(jwt.claims())))
        .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT' })
        .encrypt(await importJWK({ kty: jwt.rsa.kty ?? '', n: jwt.rsa.n ?? '', e: jwt.rsa.e ?? '' }, 'RSA-OAEP-256')),
  ],
  [
    'a token within a token',
    'malformed',
    async () => {
      const key = await importJWK(jwt.rsa, 'RS256');
      const inner = await jwt.sign(jwt.claims());
      return new CompactSign(Buffer.from(inner))
        .setProtectedHeader({ alg: 'RS256', kid: 'first', typ: 'at+jwt', cty: 'JWT' })
        .sign(key);
    },
  ],
  [
    'claims that are a list',
    'malformed',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, [jwt.claims()], 'AAAA'),
  ],
  [
    'claims that are not JSON',
    'malformed',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, '{"iss":', 'AAAA'),
  ],
  ['a header that is not JSON', 'malformed', () => forge('{', jwt.claims(), 'AAAA')],
  ['a header that is null', 'malformed', () => forge('null', jwt.claims(), 'AAAA')],
  [
    'a header that is not UTF-8',
    'malformed',
    async () =>
      `${base64url.encode(Uint8Array.of(0xff, 0xfe))}.${(await jwt.sign(jwt.claims())).split('.').slice(1).join('.')}`,
  ],
  ['nothing but dots', 'malformed', () => 'a..'],
  [
    'a claim given twice',
    'wrong-signature',
    async () => {
      const [header = '', , signature] = (await jwt.sign(jwt.claims({ scope: 'plants:read' }))).split('.');
      return `${header}.${encode(JSON.stringify(jwt.claims()).replace('{', '{"scope":"plants:read",'))}.${signature ?? ''}`;
    },
  ],
  [
    'alg given twice',
    'wrong-algorithm',
    async () => {
      const [, payload = '', signature] = (await jwt.sign(jwt.claims())).split('.');
      return `${encode('{"alg":"RS256","alg":"none","kid":"first","typ":"at+jwt"}')}.${payload}.${signature ?? ''}`;
    },
  ],
  [
    'a prototype in the claims',
    'wrong-issuer',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, `{"__proto__":${JSON.stringify(jwt.claims())}}`, 'AAAA'),
  ],
  [
    'twelve kilobytes',
    'wrong-signature',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, jwt.claims({ padding: 'x'.repeat(9_000) }), 'AAAA'),
  ],
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
    expect(await jwt.service.rows()).toEqual([]);
  });

  it('with a published key that is too short is refused', async () => {
    // RFC 7518 §3.3 requires 2,048 bits.
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const short = { ...privateKey.export({ format: 'jwk' }), kid: 'short', alg: 'RS256' };
    jwt.provider.reply = (path) =>
      path === '/jwks'
        ? { body: JSON.stringify({ keys: [{ kty: short.kty, n: short.n, e: short.e, kid: 'short', alg: 'RS256' }] }) }
        : {};
    const content = `${encode({ alg: 'RS256', kid: 'short', typ: 'at+jwt' })}.${encode(jwt.claims())}`;

    expect(
      await jwt.create(`${content}.${signBytes('sha256', Buffer.from(content), privateKey).toString('base64url')}`),
    ).toBe(401);
    expect(jwt.reasons).toEqual(['unknown-key']);
  });

  it('with a published secret key is refused', async () => {
    jwt.provider.reply = (path) =>
      path === '/jwks'
        ? { body: JSON.stringify({ keys: [{ kty: 'oct', k: base64url.encode('secret'), kid: 'first' }] }) }
        : {};

    expect(await jwt.create(hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, jwt.claims(), 'secret'))).toBe(401);
    expect(jwt.reasons).toEqual(['wrong-algorithm']);
  });
});
