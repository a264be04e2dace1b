import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, sign as signBytes } from 'node:crypto';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { AUDIENCE, IdentityProvider, newKey, now, RSA } from '../support/identity-provider.js';
import { type Service, startService } from '../support/service.js';

// Attacks of RFC 8725, and others that have happened; jose's own tests have many more.

const HEADER = { alg: 'RS256', kid: 'first', typ: 'at+jwt' };

// RFC 7518 §3.3 requires 2,048 bits.
const SHORT = generateKeyPairSync('rsa', { modulusLength: 1_024 });

const provider = new IdentityProvider();
let verifier: JwtVerifier;
let service: Service;

beforeAll(async () => {
  await provider.start([RSA]);
  const short = { ...SHORT.publicKey.export({ format: 'jwk' }), kid: 'short', alg: 'RS256' };
  const twin = { ...publicKey(), kid: 'twins', alg: 'RS256' };
  const body = JSON.stringify({ keys: [short, { ...publicKey(), kid: 'first', alg: 'RS256' }, twin, twin] });
  provider.reply = (path) => (path === '/jwks' ? { body } : {});
  verifier = new JwtVerifier({ issuer: provider.issuer, audience: AUDIENCE });
  service = await startService({ verifier });
});

afterAll(async () => {
  await service.close();
  await provider.stop();
});

/** Returns the public part of the provider's RSA key. */
function publicKey(): JsonWebKey {
  const { n = '', e = '' } = RSA;
  return { kty: 'RSA', n, e };
}

function encode(part: unknown): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}

/** Returns a token with any signature. */
function forge(header: unknown, payload: unknown, signature = ''): string {
  return `${encode(header)}.${encode(payload)}.${signature}`;
}

function signWithPublicKey(): string {
  const key = createPublicKey({ key: publicKey(), format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  const content = `${encode({ ...HEADER, alg: 'HS256' })}.${encode(provider.claims())}`;
  return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`;
}

function signWithShortKey(): string {
  const content = `${encode({ ...HEADER, kid: 'short' })}.${encode(provider.claims())}`;
  return `${content}.${signBytes('sha256', Buffer.from(content), SHORT.privateKey).toString('base64url')}`;
}

/** Signs valid claims with a foreign key, which headers have and to which they lead (RFC 8725 §3.10). */
async function signWithOwnKey(): Promise<string> {
  const key = await newKey('RS256', 'first');
  const { kty, n, e } = key;
  return provider.sign({}, { jwk: { kty, n, e }, jku: `${provider.issuer}/planted` }, key);
}

/** Sends a plant, and returns all of the answer that does not differ in each. */
async function answerTo(token: string): Promise<object> {
  const answer = await fetch(`${service.url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: '{"id":1,"name":"Monstera"}',
  });
  const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
  return { status: answer.status, headers, body: (await answer.json()) as unknown };
}

describe('An attack', () => {
  it.each<{ what: string; detail?: RegExp; token: () => string | Promise<string> }>([
    { what: 'alg none', detail: /"alg"/, token: () => forge({ ...HEADER, alg: 'none' }, provider.claims()) },
    { what: 'HS256 with the public key as the secret', detail: /"alg"/, token: signWithPublicKey },
    { what: 'a published key that is too short', detail: /2048 bits/, token: signWithShortKey },
    { what: 'an unknown kid', detail: /no applicable key/, token: () => provider.sign({}, { kid: '../dev/null' }) },
    { what: 'one kid of two keys', detail: /multiple matching keys/, token: () => provider.sign({}, { kid: 'twins' }) },
    { what: 'no exp', detail: /missing required "exp"/, token: () => provider.sign({ exp: undefined }) },
    { what: 'exp that is no time', detail: /"exp"/, token: () => provider.sign({ exp: '2999-01-01' }) },
    { what: 'nbf in the future', detail: /"nbf"/, token: () => provider.sign({ nbf: now() + 36 }) },
    { what: 'nbf that is no time', detail: /"nbf"/, token: () => provider.sign({ nbf: 'tomorrow' }) },
    { what: 'a key of its own (jwk and jku)', detail: /signature verification failed/, token: signWithOwnKey },
    {
      what: 'an unknown critical header',
      detail: /"x" is not recognized/,
      token: () => forge({ ...HEADER, crit: ['x'], x: 1 }, provider.claims(), 'AAAA'),
    },
    {
      what: 'a payload that is not encoded',
      token: () => forge({ ...HEADER, crit: ['b64'], b64: false }, provider.claims()),
    },
    { what: 'a header that is not JSON', token: () => forge('{"alg":', provider.claims(), 'AAAA') },
    {
      what: 'a type that is no text',
      detail: /typ is 1/,
      token: () => forge({ ...HEADER, typ: 1 }, provider.claims()),
    },
    { what: 'claims that are not JSON', token: () => forge(HEADER, '{"iss":', 'AAAA') },
    { what: 'claims that are null', token: () => forge(HEADER, 'null', 'AAAA') },
  ])('gets the same answer as an unknown token: $what', async ({ detail = /./, token }) => {
    const forged = await token();
    const usual = await answerTo('an-unknown-token');

    expect(usual).toMatchObject({ status: 400, body: { error: 401 } });
    expect(await answerTo(forged)).toEqual(usual);
    const explained = expect.stringMatching(detail) as unknown;
    expect(await verifier.verify(forged)).toEqual({ refused: 'invalid', detail: explained });
    expect(provider.requests).not.toContain('/planted');
    expect(await service.rows()).toEqual([]);
  });
});
