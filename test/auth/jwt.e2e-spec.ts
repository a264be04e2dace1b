import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createHmac, createPublicKey, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { base64url, CompactEncrypt, CompactSign, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { AUTHENTICATION_REFUSED, type AuthenticationRefused } from '../../src/auth/refusals.js';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { TokenVerifiers } from '../../src/auth/token-verifier.js';
import { StaticTokens, digestOf } from '../../src/auth/static-tokens.js';
import { AUDIENCE, IdentityProvider, newKey } from '../support/identity-provider.js';
import { RawClient } from '../support/raw-client.js';
import { type Service, startService, TOKEN } from '../support/service.js';

let provider: IdentityProvider;
let rsa: JWK;
let ec: JWK;
let service: Service;
let verifier: JwtVerifier;
let reasons: string[];

const note = (message: unknown): void => void reasons.push((message as AuthenticationRefused).reason);

beforeAll(async () => {
  [rsa, ec] = await Promise.all([newKey('RS256', 'first'), newKey('ES256', 'elliptic')]);
});

beforeEach(async () => {
  provider = new IdentityProvider();
  await provider.start([rsa, ec]);
  reasons = [];
  subscribe(AUTHENTICATION_REFUSED, note);
  verifier = new JwtVerifier({ issuer: provider.issuer, audience: AUDIENCE });
  service = await startService({
    verifier: new TokenVerifiers([new StaticTokens([{ name: 'tests', digest: digestOf(TOKEN) }]), verifier]),
  });
});

afterEach(async () => {
  unsubscribe(AUTHENTICATION_REFUSED, note);
  await service.close();
  await provider.stop();
});

/** The number in the answer: 200, or what the error says. */
async function create(token: string, target = service): Promise<number> {
  const response = await fetch(`${target.url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: '{"id":1,"name":"Monstera"}',
  });
  return ((await response.json()) as { error?: number }).error ?? response.status;
}

/** Has the process's clock tell a later time, by so many milliseconds, until the returned function is called. */
function jump(milliseconds: number): () => void {
  const now = performance.now.bind(performance);
  performance.now = () => now() + milliseconds;
  return () => (performance.now = now);
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Claims that are valid, but for what is given; undefined leaves one out. */
function claims(changes: Record<string, unknown> = {}): JWTPayload {
  const valid = { iss: provider.issuer, aud: AUDIENCE, sub: 'ci', scope: 'plants:write', iat: now(), exp: now() + 300 };
  return { ...valid, ...changes };
}

async function sign(payload: JWTPayload, header: Record<string, unknown> = {}, key = rsa): Promise<string> {
  const { alg = '', kid = '' } = key;
  return new SignJWT(payload)
    .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header })
    .sign(await importJWK(key, alg));
}

function encode(part: unknown): string {
  return base64url.encode(typeof part === 'string' ? part : JSON.stringify(part));
}

/** A token whose third part may be anything. */
function forge(header: unknown, payload: unknown, signature = ''): string {
  return `${encode(header)}.${encode(payload)}.${signature}`;
}

function publicPem(): string {
  return createPublicKey({ key: { kty: 'RSA', n: rsa.n ?? '', e: rsa.e ?? '' }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
}

function hmac(header: unknown, payload: unknown, secret: string): string {
  const content = `${encode(header)}.${encode(payload)}`;
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
}

describe('A client with an access token of a real provider', () => {
  it('creates a plant where it was granted plants:write', async () => {
    expect(await create(await provider.token('plants:write'))).toBe(200);
    expect(await service.rows()).toHaveLength(1);
  });

  it('is refused with 403 where it was not', async () => {
    expect(await create(await provider.token('plants:read'))).toBe(403);
    expect(await service.rows()).toEqual([]);
  });

  it('is known by the name in sub until the time in exp, give or take the clocks', async () => {
    const { exp, sub } = JSON.parse(
      Buffer.from((await provider.token('plants:write')).split('.')[1] ?? '', 'base64url').toString(),
    ) as { exp: number; sub: string };
    expect(sub).toBe('ci');
    expect(await verifier.verify(await sign(claims({ exp })))).toEqual({
      name: 'ci',
      scopes: ['plants:write'],
      expires: new Date((exp + 30) * 1_000),
    });
  });

  it('needs no more than one look at the discovery document and at the keys', async () => {
    const token = await provider.token('plants:write');
    await Promise.all(Array.from({ length: 20 }, () => create(token)));
    await create(await provider.token('plants:write'));

    expect(provider.requests.filter((path) => path !== '/token')).toEqual([
      '/.well-known/openid-configuration',
      '/jwks',
    ]);
  });

  it('stands beside those with static tokens, which need no provider', async () => {
    expect(await create(TOKEN)).toBe(200);
    expect(provider.requests).toEqual([]);
  });
});

describe('Keys', () => {
  it('may be rotated: tokens of the new key are valid at once, those of the old one as long as it is published', async () => {
    const old = await provider.token('plants:write');
    expect(await create(old)).toBe(200);
    const next = await newKey('RS256', 'second');

    provider.rotate([next, rsa]);

    expect(await create(await provider.token('plants:write'))).toBe(200);
    expect(await create(old)).toBe(200);
  });

  it('that are withdrawn make nothing valid any more, not even what was valid before', async () => {
    const old = await provider.token('plants:write');
    expect(await create(old)).toBe(200);

    provider.rotate([await newKey('RS256', 'second')]);
    // The service learns of it with the first token of the new key, or within minutes.
    expect(await create(await provider.token('plants:write'))).toBe(200);

    expect(await create(old)).toBe(401);
    expect(reasons).toEqual(['unknown-key']);
  });

  it('that were withdrawn in a pause without requests make nothing valid after it', async () => {
    const old = await provider.token('plants:write');
    expect(await create(old)).toBe(200);
    provider.rotate([await newKey('RS256', 'second')]);

    const later = jump(300_001);
    try {
      expect(await create(old)).toBe(401);
    } finally {
      later();
    }
  });

  it('are not fetched for every token that names another', async () => {
    expect(await create(await sign(claims()))).toBe(200);
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, index) => sign(claims(), { kid: `no-${index}` })));

    expect(new Set(await Promise.all(tokens.map((token) => create(token))))).toEqual(new Set([401]));
    // All of them waited for one more fetch.
    expect(provider.requests.filter((path) => path === '/jwks')).toHaveLength(2);
  });

  it('that are known are at hand, however many tokens wait for one that is not', async () => {
    expect(await create(await sign(claims()))).toBe(200);
    const client = await RawClient.connect(service.port);
    const get = `GET / HTTP/1.1\r\nHost: plants.example\r\nAuthorization: Bearer ${await sign(claims(), { kid: 'no' })}\r\n\r\n`;
    await client.send(get.repeat(1_100));

    const waiting = client.answer();
    expect(await Promise.race([create(await sign(claims({ sub: 'fresh' }))), waiting])).toBe(200);

    expect(JSON.parse((await waiting).body)).toMatchObject({ error: 401 });
    for (let count = 1; count < 1_100; count += 1) await client.answer();
    expect(await client.hangUp()).toBe('FIN');
  });

  it.each(['jwksUrl', 'RFC 8414'])('are found by %s as well', async (way) => {
    const other = await startService({
      verifier: new JwtVerifier({
        issuer: provider.issuer,
        audience: AUDIENCE,
        ...(way === 'jwksUrl' && { jwksUrl: new URL(`${provider.issuer}/jwks`) }),
      }),
    });
    // A provider that has the one document where this one has the other.
    if (way === 'RFC 8414')
      provider.hide('/.well-known/openid-configuration', '/.well-known/oauth-authorization-server');
    try {
      expect(await create(await sign(claims()), other)).toBe(200);
    } finally {
      await other.close();
    }
  });
});

describe('A provider that is down', () => {
  it('is 503 with Retry-After for tokens that need it, and no other', async () => {
    const token = await provider.token('plants:write');
    await provider.stop();

    const response = await fetch(`${service.url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('www-authenticate')).toBeNull();
    expect(await response.json()).toMatchObject({ error: 503 });
    expect(await create(TOKEN)).toBe(200);
    // What no key could save needs none.
    expect(await create(await sign(claims({ iss: 'https://elsewhere.example.com' })))).toBe(401);
    expect(await create(await sign(claims({ exp: now() - 60 })))).toBe(401);
    expect(await create('no-token-of-ours')).toBe(401);
    expect(service.log()).toEqual([expect.stringMatching(/^The keys of http:\S+ cannot be fetched: /)]);
  });

  it('stops nobody whose key is known already', async () => {
    expect(await create(await provider.token('plants:write'))).toBe(200);
    const another = await provider.token('plants:write');
    await provider.stop();

    expect(await create(another)).toBe(200);
  });

  it('is waited for by 1,000 requests at most, while those that need no provider go on', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const jwksUrl = new URL(`http://127.0.0.1:${port}/`);
    const other = await startService({
      verifier: new TokenVerifiers([
        new StaticTokens([{ name: 'tests', digest: digestOf(TOKEN) }]),
        new JwtVerifier({ issuer: provider.issuer, audience: AUDIENCE, jwksUrl }),
      ]),
    });
    try {
      const token = await sign(claims());
      const asked = once(silent, 'connection') as Promise<[Socket]>;
      const client = await RawClient.connect(other.port);
      const get = `GET / HTTP/1.1\r\nHost: plants.example\r\nAuthorization: Bearer ${token}\r\n\r\n`;
      await client.send(get.repeat(1_000));
      const [connection] = await asked;

      const first = client.answer();
      // Those that wait are answered in the end, too: it is to come before them.
      expect(await Promise.race([create(token, other), first])).toBe(503);
      expect(await create(TOKEN, other)).toBe(200);

      connection.destroy();
      expect(JSON.parse((await first).body)).toMatchObject({ error: 503 });
      for (let count = 1; count < 1_000; count += 1) {
        expect(JSON.parse((await client.answer()).body)).toMatchObject({ error: 503 });
      }
      expect(await client.hangUp()).toBe('FIN');
    } finally {
      await other.close();
      silent.close();
    }
  });

  it('is asked again, and the service goes on by itself', async () => {
    const token = await provider.token('plants:write');
    await provider.stop();
    expect(await create(token)).toBe(503);

    await provider.start([rsa, ec]);

    let answer = 503;
    while (answer === 503) answer = await create(token);
    expect(answer).toBe(200);
  });

  it.each<[string, (path: string) => { status?: number; body?: string; location?: string }]>([
    [
      'speaks for another issuer',
      () => ({ body: '{"issuer":"https://elsewhere.example.com","jwks_uri":"https://a.b"}' }),
    ],
    [
      'keeps its keys where anybody could forge them',
      () => ({ body: `{"issuer":"${provider.issuer}","jwks_uri":"http://login.example.com/jwks"}` }),
    ],
    ['leads elsewhere', () => ({ status: 302, location: '/elsewhere' })],
    ['fails', () => ({ status: 500 })],
    ['knows no discovery', () => ({ status: 404 })],
    ['sends no JSON', () => ({ body: '<html>' })],
    ['sends no keys', (path) => (path === '/jwks' ? { body: '{"keys":1}' } : {})],
    ['sends no end', (path) => (path === '/jwks' ? { body: ' '.repeat(2_000_000) } : {})],
  ])('is 503 as well where it %s', async (_, reply) => {
    provider.reply = reply;

    expect(await create(await sign(claims()))).toBe(503);
    expect(provider.requests).not.toContain('/elsewhere');
    expect(await service.rows()).toEqual([]);
  });
});

describe('What is accepted', () => {
  it.each<[string, () => Promise<string>]>([
    ['another algorithm of a key pair', () => sign(claims(), {}, ec)],
    ['one of several audiences', () => sign(claims({ aud: ['https://a.example.com', AUDIENCE] }))],
    ['a clock that is a little behind', () => sign(claims({ exp: now() - 10 }))],
    ['a clock that is a little ahead', () => sign(claims({ nbf: now() + 10, iat: now() + 10 }))],
    ['the type as a whole media type', () => sign(claims(), { typ: 'application/AT+JWT' })],
    ['several scopes', () => sign(claims({ scope: 'openid plants:write' }))],
    ['claims of no interest', () => sign(claims({ admin: false, jti: 'x' }))],
    ['a token without sub, but with client_id', () => sign(claims({ sub: undefined, client_id: 'ci' }))],
  ])('%s', async (_, token) => {
    expect(await create(await token())).toBe(200);
  });

  it.each<[string, Record<string, unknown>]>([
    ['no scope', { scope: undefined }],
    ['an empty scope', { scope: '' }],
    ['a scope that is no text', { scope: ['plants:write'] }],
    ['a scope that only begins so', { scope: 'plants:writer' }],
  ])('%s is valid, but may do nothing: 403', async (_, changes) => {
    expect(await create(await sign(claims(changes)))).toBe(403);
  });

  it.each<[string, Record<string, unknown>, number]>([
    ['the type JWT', { typ: 'JWT' }, 200],
    ['no type', { typ: undefined }, 200],
    ['the type at+jwt', { typ: 'at+jwt' }, 401],
    ['the type of a logout token', { typ: 'logout+jwt' }, 401],
  ])('%s is answered, with the setting JWT, as %j: %i', async (_, header, expected) => {
    const other = await startService({
      verifier: new JwtVerifier({ issuer: provider.issuer, audience: AUDIENCE, type: 'JWT' }),
    });
    try {
      expect(await create(await sign(claims(), header), other)).toBe(expected);
    } finally {
      await other.close();
    }
  });
});

/** RFC 8725, and what was done to others. */
const ATTACKS: readonly [string, string, () => string | Promise<string>][] = [
  ['alg none', 'wrong-algorithm', () => forge({ alg: 'none', typ: 'at+jwt' }, claims())],
  ['alg None', 'wrong-algorithm', () => forge({ alg: 'None', typ: 'at+jwt' }, claims())],
  [
    'alg none with a signature',
    'wrong-algorithm',
    async () => forge({ alg: 'none', typ: 'at+jwt' }, claims(), (await sign(claims())).split('.')[2]),
  ],
  ['no alg', 'malformed', () => forge({ typ: 'at+jwt' }, claims(), 'AAAA')],
  ['alg that is no text', 'malformed', () => forge({ alg: ['RS256'], typ: 'at+jwt' }, claims(), 'AAAA')],
  [
    'HS256 with the public key as the secret',
    'wrong-algorithm',
    () => hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, claims(), publicPem()),
  ],
  [
    'HS256 with the modulus as the secret',
    'wrong-algorithm',
    () => hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, claims(), rsa.n ?? ''),
  ],
  [
    'HS256 with an empty secret',
    'wrong-algorithm',
    () => hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, claims(), ''),
  ],
  [
    'RS256 with the key of ES256',
    'unknown-key',
    async () =>
      forge({ alg: 'RS256', kid: 'elliptic', typ: 'at+jwt' }, claims(), (await sign(claims(), {}, ec)).split('.')[2]),
  ],
  [
    'PS256 with a key that is for RS256',
    'unknown-key',
    () => forge({ alg: 'PS256', kid: 'first', typ: 'at+jwt' }, claims(), 'AAAA'),
  ],
  ['a key of somebody else', 'wrong-signature', async () => sign(claims(), {}, await newKey('RS256', 'first'))],
  ['a stripped signature', 'wrong-signature', async () => (await sign(claims())).replace(/[^.]*$/, '')],
  ['a cut signature', 'wrong-signature', async () => (await sign(claims())).slice(0, -8)],
  [
    'the signature of another token',
    'wrong-signature',
    async () =>
      [...(await sign(claims())).split('.').slice(0, 2), (await sign(claims({ sub: 'other' }))).split('.')[2]].join(
        '.',
      ),
  ],
  [
    'tampered claims',
    'wrong-signature',
    async () => {
      const [header = '', , signature] = (await sign(claims({ scope: 'plants:read' }))).split('.');
      return `${header}.${encode(claims())}.${signature ?? ''}`;
    },
  ],
  [
    'a tampered header',
    'wrong-signature',
    async () => {
      const [, payload = '', signature] = (await sign(claims())).split('.');
      return `${encode({ alg: 'RS256', kid: 'first', typ: 'at+jwt', x: 1 })}.${payload}.${signature ?? ''}`;
    },
  ],
  [
    'an ECDSA signature with r = s = 0',
    'wrong-signature',
    () => forge({ alg: 'ES256', kid: 'elliptic', typ: 'at+jwt' }, claims(), base64url.encode(new Uint8Array(64))),
  ],
  [
    'an ECDSA signature in DER',
    'wrong-signature',
    () =>
      forge(
        { alg: 'ES256', kid: 'elliptic', typ: 'at+jwt' },
        claims(),
        base64url.encode(Buffer.from('3006020101020101', 'hex')),
      ),
  ],
  ['a foreign issuer', 'wrong-issuer', () => sign(claims({ iss: 'https://elsewhere.example.com' }))],
  ['an issuer that only begins so', 'wrong-issuer', () => sign(claims({ iss: `${provider.issuer}/` }))],
  ['no issuer', 'wrong-issuer', () => sign(claims({ iss: undefined }))],
  ['several issuers', 'wrong-issuer', () => sign(claims({ iss: [provider.issuer] }))],
  ['another audience', 'wrong-audience', () => sign(claims({ aud: 'https://other.example.com' }))],
  ['no audience', 'wrong-audience', () => sign(claims({ aud: undefined }))],
  ['an audience that only begins so', 'wrong-audience', () => sign(claims({ aud: `${AUDIENCE}.evil.example` }))],
  [
    'an audience that is an object',
    'wrong-audience',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, claims({ aud: { [AUDIENCE]: true } }), 'AAAA'),
  ],
  ['no exp', 'wrong-claim', () => sign(claims({ exp: undefined }))],
  ['exp that is a text', 'wrong-claim', () => sign(claims({ exp: `${now() + 300}` }))],
  ['exp that is null', 'wrong-claim', () => sign(claims({ exp: null }))],
  ['exp that is over', 'expired', () => sign(claims({ exp: now() - 31 }))],
  ['nbf to come', 'not-yet-valid', () => sign(claims({ nbf: now() + 60 }))],
  ['nbf that is a text', 'wrong-claim', () => sign(claims({ nbf: '0' }))],
  ['iat to come', 'not-yet-valid', () => sign(claims({ iat: now() + 60 }))],
  ['iat that is a text', 'wrong-claim', () => sign(claims({ iat: '0' }))],
  ['sub that is an object', 'wrong-claim', () => sign(claims({ sub: { toString: 'ci' } }))],
  ['the type of another kind of token', 'wrong-type', () => sign(claims(), { typ: 'logout+jwt' })],
  ['an ID token, by its type JWT', 'wrong-type', () => sign(claims(), { typ: 'JWT' })],
  ['no type', 'wrong-type', () => sign(claims(), { typ: undefined })],
  [
    'an embedded key (jwk)',
    'forbidden-header',
    async () => {
      const own = await newKey('RS256', 'own');
      return sign(claims(), { jwk: { kty: own.kty, n: own.n, e: own.e } }, own);
    },
  ],
  [
    'an embedded key of the issuer (jwk)',
    'forbidden-header',
    () => sign(claims(), { jwk: { kty: rsa.kty, n: rsa.n, e: rsa.e } }),
  ],
  ['a URL of keys (jku)', 'forbidden-header', () => sign(claims(), { jku: `${provider.issuer}/planted` })],
  ['a certificate (x5c)', 'forbidden-header', () => sign(claims(), { x5c: ['MIIB'] })],
  ['a URL of certificates (x5u)', 'forbidden-header', () => sign(claims(), { x5u: `${provider.issuer}/planted` })],
  [
    'an unknown critical header',
    'forbidden-header',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt', crit: ['x'], x: 1 }, claims(), 'AAAA'),
  ],
  [
    'an unencoded payload (RFC 7797)',
    'forbidden-header',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt', crit: ['b64'], b64: false }, claims(), 'AAAA'),
  ],
  ['a kid that is a path', 'unknown-key', () => sign(claims(), { kid: '../../../../dev/null' })],
  ['a kid that is SQL', 'unknown-key', () => sign(claims(), { kid: "x' UNION SELECT 'key" })],
  ['a kid that is a URL', 'unknown-key', () => sign(claims(), { kid: `${provider.issuer}/planted` })],
  ['a kid that every object has', 'unknown-key', () => sign(claims(), { kid: '__proto__' })],
  [
    'a kid that is no text',
    'unknown-key',
    () => forge({ alg: 'RS256', kid: { a: 1 }, typ: 'at+jwt' }, claims(), 'AAAA'),
  ],
  [
    'an encrypted token (JWE)',
    'unknown',
    async () =>
      new CompactEncrypt(Buffer.from(await sign(claims())))
        .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT' })
        .encrypt(await importJWK({ kty: rsa.kty ?? '', n: rsa.n ?? '', e: rsa.e ?? '' }, 'RSA-OAEP-256')),
  ],
  [
    'a token within a token',
    'malformed',
    async () => {
      const key = await importJWK(rsa, 'RS256');
      const inner = await sign(claims());
      return new CompactSign(Buffer.from(inner))
        .setProtectedHeader({ alg: 'RS256', kid: 'first', typ: 'at+jwt', cty: 'JWT' })
        .sign(key);
    },
  ],
  [
    'claims that are a list',
    'malformed',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, [claims()], 'AAAA'),
  ],
  [
    'claims that are no JSON',
    'malformed',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, '{"iss":', 'AAAA'),
  ],
  ['a header that is no JSON', 'malformed', () => forge('{', claims(), 'AAAA')],
  ['a header that is null', 'malformed', () => forge('null', claims(), 'AAAA')],
  [
    'a header that is not UTF-8',
    'malformed',
    async () =>
      `${base64url.encode(Uint8Array.of(0xff, 0xfe))}.${(await sign(claims())).split('.').slice(1).join('.')}`,
  ],
  ['nothing but dots', 'malformed', () => 'a..'],
  [
    'a claim given twice, the second without effect on the signature',
    'wrong-signature',
    async () => {
      const [header = '', , signature] = (await sign(claims({ scope: 'plants:read' }))).split('.');
      return `${header}.${encode(JSON.stringify(claims()).replace('{', '{"scope":"plants:read",'))}.${signature ?? ''}`;
    },
  ],
  [
    'alg given twice',
    'wrong-algorithm',
    async () => {
      const [, payload = '', signature] = (await sign(claims())).split('.');
      return `${encode('{"alg":"RS256","alg":"none","kid":"first","typ":"at+jwt"}')}.${payload}.${signature ?? ''}`;
    },
  ],
  [
    'a prototype in the claims',
    'wrong-issuer',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, `{"__proto__":${JSON.stringify(claims())}}`, 'AAAA'),
  ],
  [
    'twelve kilobytes of it',
    'wrong-signature',
    () => forge({ alg: 'RS256', kid: 'first', typ: 'at+jwt' }, claims({ padding: 'x'.repeat(9_000) }), 'AAAA'),
  ],
];

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

describe('An attack', () => {
  it.each(ATTACKS)('is refused with 401 and no reason: %s (%s)', async (_what, reason, attack) => {
    const response = await fetch(`${service.url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${await attack()}`, 'Content-Type': 'application/json' },
      body: '{"id":1,"name":"Monstera"}',
    });

    // To the stranger they are all alike.
    expect(response.status).toBe(400);
    expect(await response.text()).toBe(
      '{"error":401,"message":"A valid token is required: send the header \\"Authorization: Bearer <ACCESS_TOKEN>\\"."}',
    );
    expect(Object.fromEntries([...response.headers].filter(([name]) => name !== 'date'))).toEqual({
      'cache-control': 'no-store',
      connection: 'keep-alive',
      'content-length': '110',
      'content-type': 'application/json',
      'keep-alive': 'timeout=72',
      'www-authenticate': 'Bearer realm="plants", error="invalid_token"',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(UUID) as unknown,
    });
    expect(reasons).toEqual([reason]);
    expect(provider.requests).not.toContain('/planted');
    expect(await service.rows()).toEqual([]);
  });

  it('with a key that is too short is refused, though the issuer publishes it', async () => {
    // 1,024 bits (RFC 7518 §3.3 wants 2,048).
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const short = { ...privateKey.export({ format: 'jwk' }), kid: 'short', alg: 'RS256' };
    provider.reply = (path) =>
      path === '/jwks'
        ? { body: JSON.stringify({ keys: [{ kty: short.kty, n: short.n, e: short.e, kid: 'short', alg: 'RS256' }] }) }
        : {};
    const content = `${encode({ alg: 'RS256', kid: 'short', typ: 'at+jwt' })}.${encode(claims())}`;

    expect(
      await create(`${content}.${signBytes('sha256', Buffer.from(content), privateKey).toString('base64url')}`),
    ).toBe(401);
    expect(reasons).toEqual(['unknown-key']);
  });

  it('with a secret key that the issuer publishes is refused', async () => {
    provider.reply = (path) =>
      path === '/jwks'
        ? { body: JSON.stringify({ keys: [{ kty: 'oct', k: base64url.encode('secret'), kid: 'first' }] }) }
        : {};

    expect(await create(hmac({ alg: 'HS256', kid: 'first', typ: 'at+jwt' }, claims(), 'secret'))).toBe(401);
    expect(reasons).toEqual(['wrong-algorithm']);
  });
});
