import { jest } from '@jest/globals';
import type { JWK } from 'jose';
import type { JwtSettings } from '../../src/auth/jwt-settings.js';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { AUDIENCE, newKey } from '../support/identity-provider.js';
import { JwtService, now, providerKeys } from '../support/jwt-service.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';
import { until } from '../support/until.js';

/** All timers but `setInterval`, which no other part of these tests uses. */
const OTHER_TIMERS = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'setTimeout',
] as const;

let jwt: JwtService;
let keys: [JWK, JWK];

beforeAll(async () => {
  keys = await providerKeys();
});

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: [...OTHER_TIMERS] });
  jwt = await JwtService.start(...keys);
});

afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  await jwt.stop();
});

/** Starts another service, with these settings. */
function startWith(settings: Partial<JwtSettings>): Promise<Service> {
  return startService({ verifier: new JwtVerifier({ issuer: jwt.provider.issuer, audience: AUDIENCE, ...settings }) });
}

/** Lets the service fetch keys again, which it does at most once a second. */
function skipSecond(): void {
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + 1_000);
}

describe('A client with an access token of a real provider', () => {
  it('creates a plant with the scope plants:write, and gets error 403 without it', async () => {
    expect(await jwt.create(await jwt.provider.token('plants:read'))).toBe(403);
    expect(await jwt.service.rows()).toEqual([]);
    expect(await jwt.create(await jwt.provider.token('plants:write'))).toBe(200);
  });

  it('has the name in sub, and expires at exp plus the clock tolerance', async () => {
    const { exp, sub } = JSON.parse(
      Buffer.from((await jwt.provider.token('plants:write')).split('.')[1] ?? '', 'base64url').toString(),
    ) as { exp: number; sub: string };
    expect(sub).toBe('ci');
    expect(await jwt.verifier.verify(await jwt.sign(jwt.claims({ exp })))).toEqual({
      name: 'ci',
      scopes: ['plants:write'],
      expires: new Date((exp + 30) * 1_000),
    });
  });

  it('needs one request for the discovery document and one for the keys', async () => {
    const token = await jwt.provider.token('plants:write');
    await Promise.all(Array.from({ length: 20 }, () => jwt.create(token)));
    await jwt.create(await jwt.provider.token('plants:write'));

    expect(jwt.provider.requests.filter((path) => path !== '/token')).toEqual([
      '/.well-known/openid-configuration',
      '/jwks',
    ]);
  });
});

describe('Keys', () => {
  it('may be rotated: a new key is accepted within a second, and an old one as long as it is published', async () => {
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);
    const next = await newKey('RS256', 'second');

    jwt.provider.rotate([next, jwt.rsa]);
    skipSecond();

    expect(await jwt.create(await jwt.provider.token('plants:write'))).toBe(200);
    expect(await jwt.create(old)).toBe(200);
  });

  it('that were withdrawn are refused after five minutes, although no token has a new one', async () => {
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);
    jwt.provider.rotate([await newKey('RS256', 'second')]);

    jest.advanceTimersByTime(300_000);
    await until('the token is refused', async () => (await jwt.create(old)) !== 200);
    expect(jwt.reasons[0]).toBe('unknown-key');
  });

  it('are fetched after an outage, and tokens of known keys are accepted all the time', async () => {
    expect(await jwt.create(await jwt.provider.token('plants:write'))).toBe(200);
    // Each has to be verified, because no other one is remembered.
    const [first = '', ...tokens] = await Promise.all(
      Array.from({ length: 3 }, (_, index) => jwt.sign(jwt.claims({ sub: `client ${index}` }))),
    );
    await jwt.provider.stop();
    expect(await jwt.create(first)).toBe(200);

    jest.advanceTimersByTime(240_000);
    await until('the outage is logged', () => jwt.service.log().length > 0);
    for (const token of [first, ...tokens]) expect(await jwt.create(token)).toBe(200);
    await jwt.provider.start([jwt.rsa]);
    const before = jwt.provider.requests.length;
    jest.advanceTimersByTime(240_000);
    await until('the keys are fetched', () => jwt.provider.requests.length > before);
    expect(await jwt.create(first)).toBe(200);
  });

  it('are not fetched for each token with an unknown key', async () => {
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, index) => jwt.sign(jwt.claims(), { kid: `no-${index}` })),
    );

    expect(new Set(await Promise.all(tokens.map((token) => jwt.create(token))))).toEqual(new Set([401]));
    // They share a fetch a second.
    expect(jwt.provider.requests.filter((path) => path === '/jwks').length).toBeLessThan(10);
  });

  it('are found by jwksUrl', async () => {
    const jwksUrl = new URL(`${jwt.provider.issuer}/jwks`);
    const other = await startWith({ jwksUrl });

    expect(await jwt.create(await jwt.sign(jwt.claims()), other)).toBe(200);
    expect(jwt.provider.requests).toEqual(['/jwks']);
    await other.close();
  });
});

describe('A provider that is unavailable', () => {
  function discovery(issuer: string, keys: string): { readonly body: string } {
    return { body: JSON.stringify({ issuer, jwks_uri: keys }) };
  }

  it('causes error 503 with Retry-After only for tokens that need it, until it is back', async () => {
    const token = await jwt.provider.token('plants:write');
    await jwt.provider.stop();

    const response = await fetch(`${jwt.service.url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('www-authenticate')).toBeNull();
    expect(await response.json()).toMatchObject({ error: 503 });
    expect(await jwt.create(TOKEN)).toBe(200);
    // A token of another issuer needs no key.
    expect(await jwt.create(await jwt.sign(jwt.claims({ iss: 'https://elsewhere.example.com' })))).toBe(401);
    expect(await jwt.create('no-token-of-ours')).toBe(401);
    expect(jwt.service.log()).toEqual([expect.stringMatching(/^The keys of http:\S+ cannot be fetched: /)]);

    await jwt.provider.start([jwt.rsa, jwt.ec]);
    await until('the token is accepted', async () => (await jwt.create(token)) === 200);
  });

  it('and does not answer delays no token that needs no provider', async () => {
    jwt.provider.hold();
    const waiting = jwt.create(await jwt.sign(jwt.claims()));

    expect(await Promise.race([jwt.create(TOKEN), waiting])).toBe(200);
    jwt.provider.release();
    expect(await waiting).toBe(200);
  });

  it.each<[string, (path: string) => { status?: number; body?: string; location?: string }]>([
    [
      'has another issuer',
      (path) => (path === '/jwks' ? {} : discovery('https://elsewhere.example.com', `${jwt.provider.issuer}/jwks`)),
    ],
    [
      'has its keys on a URL in clear text',
      // The address leads to this machine, but is not one of loopback.
      (path) =>
        path === '/jwks'
          ? {}
          : discovery(jwt.provider.issuer, `${jwt.provider.issuer.replace('127.0.0.1', '0.0.0.0')}/jwks`),
    ],
    ['redirects', () => ({ status: 302, location: '/elsewhere' })],
    ['sends HTML', () => ({ body: '<html>' })],
    ['sends no keys', (path) => (path === '/jwks' ? { body: '{"keys":1}' } : {})],
  ])('causes error 503 if it %s', async (_, reply) => {
    jwt.provider.reply = reply;

    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(503);
    expect(jwt.provider.requests).not.toContain('/elsewhere');
    expect(await jwt.service.rows()).toEqual([]);
  });
});

describe('An access token', () => {
  it.each<[string, () => Promise<string>]>([
    ['another algorithm', () => jwt.sign(jwt.claims(), {}, jwt.ec)],
    ['exp a little in the past', () => jwt.sign(jwt.claims({ exp: now() - 10 }))],
    ['nbf and iat a little in the future', () => jwt.sign(jwt.claims({ nbf: now() + 10, iat: now() + 10 }))],
    ['the type as a complete media type', () => jwt.sign(jwt.claims(), { typ: 'application/AT+JWT' })],
    ['several scopes', () => jwt.sign(jwt.claims({ scope: 'openid plants:write' }))],
    ['client_id instead of sub', () => jwt.sign(jwt.claims({ sub: undefined, client_id: 'ci' }))],
  ])('with %s is accepted', async (_, token) => {
    expect(await jwt.create(await token())).toBe(200);
  });

  it.each<[string, Record<string, unknown>]>([
    ['no scope', { scope: undefined }],
    ['a scope that is not a string', { scope: ['plants:write'] }],
    ['a scope that starts with the required one', { scope: 'plants:writer' }],
  ])('with %s is refused with error 403', async (_, changes) => {
    expect(await jwt.create(await jwt.sign(jwt.claims(changes)))).toBe(403);
  });

  it('has any type, or none, where JWT_TYPE is JWT', async () => {
    const other = await startWith({ type: 'JWT' });
    for (const typ of ['JWT', 'at+jwt', undefined]) {
      expect(await jwt.create(await jwt.sign(jwt.claims(), { typ }), other)).toBe(200);
    }
    await other.close();
  });
});
