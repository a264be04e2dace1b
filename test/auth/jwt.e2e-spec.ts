import { EventEmitter, once } from 'node:events';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { JwtSettings } from '../../src/auth/jwt-settings.js';
import { ExpiredToken } from '../../src/auth/token-verifier.js';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { AUDIENCE, EC, JwtService, newKey, now, RSA } from '../support/identity-provider.js';
import { create, refusal, TOKEN } from '../support/client.js';
import { fakeIntervalsInEachTest, skip, skipHour, skipSecond } from '../support/clocks.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

/** Milliseconds until keys are too old, and until the service looks again whether they are. */
const MAX_AGE = 240_000;
const CHECK_INTERVAL = 10_000;

/** A key that the provider changes to. All tests share it, because its creation takes a fifth of a second of CPU. */
const SECOND = await newKey('RS256', 'second');

const directory = ServiceDirectory.ofEachTest();

let jwt: JwtService;

fakeIntervalsInEachTest();

beforeEach(async () => {
  jwt = await JwtService.start();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await jwt.stop();
});

/** Lets the time pass until the service fetches the keys again. */
function skipReloadInterval(): void {
  skip(MAX_AGE);
  jest.advanceTimersByTime(CHECK_INTERVAL);
}

/** Starts another service, with these settings. */
function startWith(settings: Partial<JwtSettings>): Promise<Service> {
  return startService({ verifier: new JwtVerifier({ issuer: jwt.provider.issuer, audience: AUDIENCE, ...settings }) });
}

describe('A client with an access token of a real provider', () => {
  it('creates plants with the scope plants:write, and gets error 403 without it', async () => {
    expect(await jwt.create(await jwt.provider.token('plants:read'))).toBe(403);
    expect(await jwt.service.rows()).toEqual([]);
    const token = await jwt.provider.token('plants:write');
    const answers = await Promise.all(Array.from({ length: 20 }, () => jwt.create(token)));

    expect(new Set(answers)).toEqual(new Set([200]));
    const requests = jwt.provider.requests.filter((path) => path !== '/token');
    expect(requests).toEqual(['/.well-known/openid-configuration', '/jwks']);
  });

  it('has the name in sub, and is valid until exp plus the clock tolerance, with any asymmetric algorithm', async () => {
    const exp = now() + 300;
    const token = await jwt.sign(jwt.claims({ sub: 'ci', exp }), {}, EC);

    const expires = new Date((exp + 30) * 1_000);
    expect(await jwt.verifier.verify(token)).toEqual({
      name: 'ci',
      issuer: jwt.provider.issuer,
      scopes: ['plants:write'],
      expires,
    });
  });
});

describe('The holder of a token', () => {
  it.each<{ claims: object; name?: string }>([
    { claims: { sub: 'ci', client_id: 'plants' }, name: 'ci' },
    { claims: { sub: undefined, client_id: 'plants' }, name: 'plants' },
    { claims: { sub: undefined } },
  ])('with $claims has the name $name, or that of the issuer', async ({ claims, name }) => {
    const { issuer } = jwt.provider;

    expect(await jwt.verifier.verify(await jwt.sign(jwt.claims({ ...claims })))).toMatchObject({
      name: name ?? issuer,
      issuer,
    });
  });
});

describe('A token with an expiry that no Date holds', () => {
  it('is valid', async () => {
    expect(await jwt.create(await jwt.sign(jwt.claims({ exp: 9_223_372_036_854_775_000 })))).toBe(200);
  });
});

describe('Keys', () => {
  it('may be rotated: a new key is accepted within a second, and an old one as long as it is published', async () => {
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);

    jwt.provider.rotate([SECOND, RSA]);
    skipSecond();

    expect(await jwt.create(await jwt.provider.token('plants:write'))).toBe(200);
    expect(await jwt.create(old)).toBe(200);
  });

  it('that were withdrawn are refused after the next fetch, within five minutes, although no token has a new one', async () => {
    await jwt.verifier.onModuleInit();
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);
    jwt.provider.rotate([SECOND]);

    skipReloadInterval();
    await until('the token is refused', async () => (await jwt.create(old)) !== 200);
    expect(jwt.reasons[0]).toBe('unknown-key');
  });

  it('that were withdrawn are refused ten seconds after a fetch that has failed', async () => {
    await jwt.verifier.onModuleInit();
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);
    jwt.provider.rotate([SECOND]);
    jwt.provider.reply = () => ({ status: 500 });
    skipReloadInterval();
    await until('the outage is logged', () => jwt.service.log().length > 0);
    expect(await jwt.create(old)).toBe(200);
    jwt.provider.reply = () => ({});

    skip(CHECK_INTERVAL);
    jest.advanceTimersByTime(CHECK_INTERVAL);
    await until('the token is refused', async () => (await jwt.create(old)) !== 200);
  });

  it('that were withdrawn are refused after a fetch for a token with an unknown key', async () => {
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);
    jwt.provider.rotate([SECOND]);

    skipSecond();
    expect(await jwt.create(await jwt.sign(jwt.claims(), { kid: 'unknown' }))).toBe(401);
    expect(await jwt.create(old)).toBe(401);
  });

  it('that were withdrawn are refused after the next fetch, also in a token that was being verified meanwhile', async () => {
    await jwt.verifier.onModuleInit();
    const token = await jwt.sign(jwt.claims());
    const remembered = await jwt.sign(jwt.claims({ sub: 'another' }));
    expect(await jwt.verifier.verify(remembered)).toMatchObject({ name: 'another' });
    const verify = crypto.subtle.verify.bind(crypto.subtle);
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const verification = jest.spyOn(crypto.subtle, 'verify').mockImplementationOnce(async (...parameters) => {
      await held;
      return verify(...parameters);
    });
    const verified = jwt.verifier.verify(token);
    await until('the signature is being verified', () => verification.mock.calls.length > 0);
    jwt.provider.rotate([SECOND]);
    skipReloadInterval();
    await until('the key is refused', async () => (await jwt.verifier.verify(remembered)) === 'unknown-key');
    goOn();

    expect(await verified).toMatchObject({ name: 'ci' });
    expect(await jwt.verifier.verify(token)).toBe('unknown-key');
  });

  it('are fetched after an outage, and tokens of known keys are accepted all the time', async () => {
    await jwt.verifier.onModuleInit();
    // Each has to be verified, because the other one is not remembered.
    const tokens = await Promise.all(['one', 'two'].map((sub) => jwt.sign(jwt.claims({ sub }))));
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    await jwt.provider.stop();

    skipReloadInterval();
    await until('the outage is logged', () => jwt.service.log().length > 0);
    for (const token of tokens) expect(await jwt.create(token)).toBe(200);
    await jwt.provider.start([RSA]);
    jwt.provider.requests.length = 0;
    skipReloadInterval();
    await until('the keys are fetched', () => jwt.provider.requests.includes('/jwks'));
  });

  it('are fetched at the start, in intervals, and no more after the close, although Nest calls hooks twice', async () => {
    const jwksUrl = new URL(`${jwt.provider.issuer}/jwks?of=another`);
    const fetched = jest.spyOn(globalThis, 'fetch');
    const times = (): number => fetched.mock.calls.filter(([url]) => url === jwksUrl.href).length;
    const verifier = new JwtVerifier({ issuer: jwt.provider.issuer, audience: AUDIENCE, jwksUrl });
    const other = await startService({ verifier });
    await verifier.onModuleInit();
    expect(times()).toBe(1);
    expect(await jwt.create(await jwt.sign(jwt.claims()), other)).toBe(200);
    skipReloadInterval();
    expect(times()).toBe(2);
    expect(await jwt.create(await jwt.sign(jwt.claims(), { kid: 'unknown' }), other)).toBe(401);

    await other.close();
    verifier.onApplicationShutdown();
    skipReloadInterval();
    expect(times()).toBe(2);
  });

  it('are accepted although the provider has been away for an hour', async () => {
    await jwt.verifier.onModuleInit();
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    await jwt.provider.stop();
    skipHour();
    skipReloadInterval();
    await until('the outage is logged', () => jwt.service.log().length > 0);

    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
  });

  it('are not fetched for each token with an unknown key', async () => {
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    const kids = Array.from({ length: 50 }, (_, index) => `no-${index}`);
    const tokens = await Promise.all(kids.map((kid) => jwt.sign(jwt.claims(), { kid })));

    expect(new Set(await Promise.all(tokens.map((token) => jwt.create(token))))).toEqual(new Set([401]));
    // They share a fetch a second.
    expect(jwt.provider.requests.filter((path) => path === '/jwks').length).toBeLessThan(10);
  });

  it('are not fetched again while the provider does not answer', async () => {
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    const answer = new EventEmitter();
    const before = jwt.provider.requests.length;
    jwt.provider.reply = () => once(answer, 'comes').then(() => ({}));
    skipSecond();
    const results = [];
    for (const kid of ['no-1', 'no-2', 'no-3']) {
      results.push(jwt.verifier.verify(await jwt.sign(jwt.claims(), { kid })));
      await until('the provider is asked', () => jwt.provider.requests.length > before);
      skipSecond();
    }

    // The discovery document.
    expect(jwt.provider.requests).toHaveLength(before + 1);
    jwt.provider.reply = () => ({});
    answer.emit('comes');
    expect(await Promise.all(results)).toEqual(['unknown-key', 'unknown-key', 'unknown-key']);
    // Also the keys, and both once more: for the two tokens that came while the first fetch went on.
    expect(jwt.provider.requests).toHaveLength(before + 4);
  });

  it('are all tried for a token that names none of them', async () => {
    jwt.provider.rotate([RSA, SECOND]);
    const header = { kid: undefined };

    expect(await jwt.create(await jwt.sign(jwt.claims(), header, RSA))).toBe(200);
    expect(await jwt.create(await jwt.sign(jwt.claims(), header, SECOND))).toBe(200);
    expect(await jwt.create(await jwt.sign(jwt.claims({ exp: now() - 31 }), header, SECOND))).toBe(401);
    expect(await jwt.create(await jwt.sign(jwt.claims(), header, await newKey('RS256', 'third')))).toBe(401);
    expect(jwt.reasons).toEqual(['expired', 'wrong-signature']);
  });

  it('that are new are tried for a token that names none of them after the next fetch, within five minutes', async () => {
    await jwt.verifier.onModuleInit();
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    jwt.provider.rotate([SECOND]);
    skipSecond();
    const token = await jwt.sign(jwt.claims(), { kid: undefined }, SECOND);
    // Its wrong signature is no reason to fetch keys: strangers can make any number of such tokens.
    expect(await jwt.create(token)).toBe(401);
    expect(jwt.reasons).toEqual(['wrong-signature']);

    skipReloadInterval();
    await until('the token is accepted', async () => (await jwt.create(token)) === 200);
  });

  it('come from jwksUrl alone, with its query', async () => {
    jwt.provider.reply = () => ({ status: 404 });
    const other = await startWith({ jwksUrl: new URL(`${jwt.provider.issuer}/jwks?key=1`) });
    expect(await jwt.create(await jwt.sign(jwt.claims()), other)).toBe(503);
    jwt.provider.reply = () => ({});
    skipSecond();

    expect(await jwt.create(await jwt.sign(jwt.claims()), other)).toBe(200);
    expect(new Set(jwt.provider.requests)).toEqual(new Set(['/jwks?key=1']));
    expect(other.log()).toEqual([
      expect.stringMatching(/cannot be fetched: http:[^?\s]+\/jwks answers with status 404\n/),
    ]);
    await other.close();
  });

  it('come from the discovery document of an issuer that ends with a slash', async () => {
    const issuer = `${jwt.provider.issuer}/`;
    // OpenID Connect Discovery 1.0 §4: the path follows the issuer without this slash.
    const body = JSON.stringify({ issuer, jwks_uri: `${issuer}jwks` });
    jwt.provider.reply = (path) => (path === '/.well-known/openid-configuration' ? { body } : {});
    const verifier = new JwtVerifier({ issuer, audience: AUDIENCE });

    expect(await verifier.verify(await jwt.sign(jwt.claims({ iss: issuer })))).toMatchObject({ name: 'ci', issuer });
  });
});

describe('A verified token', () => {
  it('is remembered with up to 9,999 others, and is verified again when there were more', async () => {
    // A token that is refused is not remembered. It fetches the keys.
    await jwt.verifier.verify(await jwt.sign(jwt.claims(), { kid: 'unknown' }));
    const token = await jwt.sign(jwt.claims());
    expect(await jwt.verifier.verify(token)).toMatchObject({ name: 'ci' });
    const verification = jest.spyOn(crypto.subtle, 'verify').mockResolvedValue(true);
    const [header = '', , signature = ''] = token.split('.');
    const verifyOther = (sub: number): Promise<unknown> => {
      const claims = Buffer.from(JSON.stringify(jwt.claims({ sub: `${sub}` }))).toString('base64url');
      return jwt.verifier.verify(`${header}.${claims}.${signature}`);
    };
    for (let sub = 1; sub < 10_000; sub += 1) await verifyOther(sub);

    await jwt.verifier.verify(token);
    expect(verification).toHaveBeenCalledTimes(9_999);
    await verifyOther(10_000);
    await jwt.verifier.verify(token);
    expect(verification).toHaveBeenCalledTimes(10_001);
    await jwt.verifier.verify(token);
    expect(verification).toHaveBeenCalledTimes(10_001);
  });
});

describe('A fetch of keys', () => {
  it('ends after five seconds, follows no redirect, and its faults and their end are logged once', async () => {
    const fetched = jest.spyOn(globalThis, 'fetch');
    const limits = jest.spyOn(AbortSignal, 'timeout');
    const lines = jest.spyOn(Logger.prototype, 'log');
    jwt.provider.reply = () => ({ status: 500 });
    const token = await jwt.sign(jwt.claims(), { kid: 'unknown' });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (attempt === 3) jwt.provider.reply = () => ({});
      await jwt.verifier.verify(token).catch(() => undefined);
      skipSecond();
    }

    expect(limits.mock.calls).toEqual(Array(5).fill([5_000]));
    for (const [, options] of fetched.mock.calls) {
      expect(options).toMatchObject({ redirect: 'manual', signal: expect.any(AbortSignal) as unknown });
    }
    const { issuer } = jwt.provider;
    const document = `${issuer}/.well-known/openid-configuration`;
    expect(jwt.service.log()).toEqual([
      expect.stringContaining(`The keys of ${issuer} cannot be fetched: ${document} answers with status 500`),
    ]);
    expect(lines.mock.calls).toEqual([[`The keys of ${issuer} can be fetched again`]]);
  });
});

describe('A provider that is unavailable', () => {
  it('causes error 503 with Retry-After only for tokens that need it, until it is back', async () => {
    const token = await jwt.provider.token('plants:write');
    const foreign = await jwt.sign(jwt.claims({ iss: 'https://elsewhere.example.com' }));
    await jwt.provider.stop();

    expect(await create(jwt.service.url, undefined, token)).toEqual(refusal(503));
    expect(await jwt.create(TOKEN)).toBe(200);
    expect(await jwt.create(foreign)).toBe(401);
    expect(await jwt.create('no-token-of-ours')).toBe(401);
    expect(jwt.service.log()).toEqual([expect.stringMatching(/^The keys of http:\S+ cannot be fetched: /)]);

    await jwt.provider.start([RSA, EC]);
    await until('the token is accepted', async () => (await jwt.create(token)) === 200);
  });

  /** Returns a discovery document. */
  function naming(issuer: string, keysOf: string): { readonly body: string } {
    return { body: JSON.stringify({ issuer, jwks_uri: `${keysOf}/jwks` }) };
  }

  it.each<{ what: string; path: string; reply: (issuer: string) => { status?: number; body?: string } }>([
    { what: 'has another issuer', path: 'openid', reply: (issuer) => naming('https://elsewhere.example.com', issuer) },
    {
      what: 'has its keys on a URL in clear text',
      path: 'openid',
      // The address leads to this machine, but is not one of loopback.
      reply: (issuer) => naming(issuer, issuer.replace('127.0.0.1', '0.0.0.0')),
    },
    { what: 'redirects', path: 'openid', reply: () => ({ status: 302, location: '/elsewhere' }) },
    { what: 'sends HTML', path: 'openid', reply: () => ({ body: '<html>' }) },
    { what: 'sends no keys', path: 'jwks', reply: () => ({ body: '{"keys":1}' }) },
  ])('causes error 503 if it $what', async ({ path, reply }) => {
    jwt.provider.reply = (requested) => (requested.includes(path) ? reply(jwt.provider.issuer) : {});

    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(503);
    expect(jwt.provider.requests).not.toContain('/elsewhere');
  });
});

describe('An access token', () => {
  it.each<{ what: string; claims?: () => object; header?: object; answer: number }>([
    { what: 'exp a little in the past', claims: () => ({ exp: now() - 25 }), answer: 200 },
    { what: 'nbf and iat a little in the future', claims: () => ({ nbf: now() + 29, iat: now() + 29 }), answer: 200 },
    { what: 'the type as a complete media type', header: { typ: 'application/AT+JWT' }, answer: 200 },
    { what: 'several scopes', claims: () => ({ scope: 'openid plants:write' }), answer: 200 },
    { what: 'several audiences', claims: () => ({ aud: ['https://other.example.com', AUDIENCE] }), answer: 200 },
    { what: 'no scope', claims: () => ({ scope: undefined }), answer: 403 },
    { what: 'a scope that is not a string', claims: () => ({ scope: ['plants:write'] }), answer: 403 },
    { what: 'a scope that starts with the required one', claims: () => ({ scope: 'plants:writer' }), answer: 403 },
  ])('with $what gets the answer $answer', async ({ claims, header, answer }) => {
    expect(await jwt.create(await jwt.sign(jwt.claims({ ...claims?.() }), { ...header }))).toBe(answer);
  });

  it.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
    'may be signed with %s',
    async (alg) => {
      // To make an RSA key takes up to half a second.
      const key = /^[RP]S/.test(alg) ? { ...RSA, alg, kid: 'another' } : await newKey(alg, 'another');
      const published = Object.entries(key).filter(([name]) => !['d', 'p', 'q', 'dp', 'dq', 'qi'].includes(name));
      const body = JSON.stringify({ keys: [Object.fromEntries(published)] });
      jwt.provider.reply = (path) => (path === '/jwks' ? { body } : {});

      expect(await jwt.create(await jwt.sign(jwt.claims(), {}, key))).toBe(200);
    },
  );

  it('that has expired is refused with the name of its holder, unless its signature is wrong', async () => {
    const token = await jwt.sign(jwt.claims({ sub: 'ci', exp: now() - 31 }));
    const forged = token.replace(/[^.]+$/, 'A'.repeat(342));

    for (const expired of [token, token, forged]) expect(await jwt.create(expired)).toBe(401);
    expect(jwt.refusals.map(({ reason, principal }) => [reason, principal])).toEqual([
      ['expired', 'ci'],
      ['expired', 'ci'],
      ['wrong-signature', undefined],
    ]);
  });

  it('that has expired has no principal for a host that calls the verifier, also when it is remembered', async () => {
    const token = await jwt.sign(jwt.claims({ sub: 'ci', exp: now() - 31 }));
    // When it has fetched the keys, the verifier verifies each token again.
    await jwt.verifier.verify(token);

    for (const result of [await jwt.verifier.verify(token), await jwt.verifier.verify(token)]) {
      expect(result).toBeInstanceOf(ExpiredToken);
      expect(result).toMatchObject({ holder: { name: 'ci' } });
      expect(result).not.toHaveProperty('name');
    }
  });

  it('has its issuer in the log, which tells its subject from a static token of the same name', async () => {
    const { issuer } = jwt.provider;
    const { service, url } = await directory.start({ ...WITH_TOKEN, JWT_ISSUER: issuer, JWT_AUDIENCE: AUDIENCE });
    const claims = jwt.claims({ sub: 'token-1' });
    const tokens = [TOKEN, await jwt.sign(claims), await jwt.sign({ ...claims, exp: now() - 31 })];
    for (const token of tokens) await create(url, undefined, token);
    await service.stop();

    const lines = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ message }) => message === 'request')).toMatchObject([
      { status: 200, principal: 'token-1' },
      { status: 200, principal: 'token-1', issuer },
      { error: 401, principal: 'token-1', issuer },
    ]);
    expect(lines.filter((line) => line.principal === 'token-1' && line.issuer === undefined).length).toBe(1);
  });

  it('has any type, or none, where JWT_TYPE is JWT', async () => {
    const other = await startWith({ type: 'JWT' });
    const answers = ['JWT', undefined, 'at+jwt'].map(async (typ) =>
      jwt.create(await jwt.sign(jwt.claims(), { typ }), other),
    );

    expect(await Promise.all(answers)).toEqual([200, 200, 200]);
    await other.close();
  });
});
