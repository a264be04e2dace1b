import { createPublicKey, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import type { JWK } from 'jose';
import type { RefusalReason } from '../../src/auth/token-verifier.js';
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
  const key = createPublicKey({ key: jwt.publicKey, format: 'jwk' });
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

/** A valid header. */
const HEADER = { alg: 'RS256', kid: 'first', typ: 'at+jwt' };

/** Signs valid claims with these changes. */
const sign = (claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> =>
  jwt.sign(jwt.claims(claims), header);

/** Claims that allow more than their signature. */
async function tamper(): Promise<string> {
  const [header = '', , signature = ''] = (await sign({ scope: 'plants:read' })).split('.');
  return `${header}.${encode(jwt.claims())}.${signature}`;
}

/** A URL at which the service must not look for keys. */
const planted = (): string => `${jwt.provider.issuer}/planted`;

/** Signs valid claims with a foreign key, to which a header leads (RFC 8725 §3.10). */
async function signWithOwnKey(header: 'jwk' | 'jku'): Promise<string> {
  const key = await newKey('RS256', 'first');
  const { kty, n, e } = key;
  return jwt.sign(jwt.claims(), { [header]: header === 'jwk' ? { kty, n, e } : planted() }, key);
}

interface Attack {
  readonly what: string;
  readonly reason: RefusalReason;
  readonly token: () => string | Promise<string>;
}

/** Attacks of RFC 8725, and others that have happened; jose's own tests have many more. */
const ATTACKS: readonly Attack[] = [
  { what: 'alg none', reason: 'wrong-algorithm', token: () => forge({ ...HEADER, alg: 'none' }, jwt.claims()) },
  {
    what: 'HS256 with the public key as the secret',
    reason: 'wrong-algorithm',
    token: () => hmac({ ...HEADER, alg: 'HS256' }, jwt.claims(), publicPem()),
  },
  {
    what: 'a foreign key with a known kid',
    reason: 'wrong-signature',
    token: async () => jwt.sign(jwt.claims(), {}, await newKey('RS256', 'first')),
  },
  { what: 'tampered claims', reason: 'wrong-signature', token: tamper },
  { what: 'a foreign issuer', reason: 'wrong-issuer', token: () => sign({ iss: 'https://elsewhere.example.com' }) },
  { what: 'a longer issuer', reason: 'wrong-issuer', token: () => sign({ iss: `${jwt.provider.issuer}/` }) },
  { what: 'another audience', reason: 'wrong-audience', token: () => sign({ aud: 'https://other.example.com' }) },
  { what: 'no exp', reason: 'wrong-claim', token: () => sign({ exp: undefined }) },
  { what: 'exp in the past', reason: 'expired', token: () => sign({ exp: now() - 31 }) },
  { what: 'nbf in the future', reason: 'not-yet-valid', token: () => sign({ nbf: now() + 60 }) },
  { what: 'nbf that is a string', reason: 'wrong-claim', token: () => sign({ nbf: '0' }) },
  { what: 'iat in the future', reason: 'not-yet-valid', token: () => sign({ iat: now() + 60 }) },
  { what: 'sub that is an object', reason: 'wrong-claim', token: () => sign({ sub: { toString: 'ci' } }) },
  { what: 'an ID token, by its type JWT', reason: 'wrong-type', token: () => sign({}, { typ: 'JWT' }) },
  { what: 'no type', reason: 'wrong-type', token: () => sign({}, { typ: undefined }) },
  { what: 'a key of its own (jwk)', reason: 'wrong-signature', token: () => signWithOwnKey('jwk') },
  { what: 'a URL of keys (jku)', reason: 'wrong-signature', token: () => signWithOwnKey('jku') },
  {
    what: 'an unknown critical header',
    reason: 'malformed',
    token: () => forge({ ...HEADER, crit: ['x'], x: 1 }, jwt.claims(), 'AAAA'),
  },
  { what: 'an unknown kid', reason: 'unknown-key', token: () => sign({}, { kid: '../../../../dev/null' }) },
  { what: 'claims that are not JSON', reason: 'malformed', token: () => forge(HEADER, '{"iss":', 'AAAA') },
  { what: 'a header that is not JSON', reason: 'malformed', token: () => forge('{', jwt.claims(), 'AAAA') },
];

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

describe('An attack', () => {
  it.each(ATTACKS)('is refused with error 401 and without the reason: $what', async ({ reason, token }) => {
    const response = await fetch(`${jwt.service.url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${await token()}`, 'Content-Type': 'application/json' },
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
