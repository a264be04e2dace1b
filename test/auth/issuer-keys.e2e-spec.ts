import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { JwtSettings } from '../../src/auth/jwt-settings.js';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { create, refusal, TOKEN } from '../support/client.js';
import { fakeIntervalsInEachTest, skip, skipHour, skipSecond } from '../support/clocks.js';
import { AUDIENCE, EC, JwtService, newKey, RSA } from '../support/identity-provider.js';
import { startService } from '../support/service.js';
import { until } from '../support/until.js';

const RELOAD_INTERVAL = 240_000;

/** A key that the provider changes to. All tests share it, because its creation takes a fifth of a second of CPU. */
const SECOND = await newKey('RS256', 'second');

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
  skip(RELOAD_INTERVAL);
  jest.advanceTimersByTime(RELOAD_INTERVAL);
}

/** Its timer is one of the fake ones, and ends with the test. */
function newVerifier(settings: Partial<JwtSettings> = {}): JwtVerifier {
  return new JwtVerifier({ issuer: jwt.provider.issuer, audience: AUDIENCE, ...settings });
}

/** Returns a token of the right issuer, but without a signature, that names an unknown key. */
function forge(kid: string): string {
  const header = { alg: 'RS256', typ: 'at+jwt', kid };
  const parts = [header, jwt.claims()].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return `${parts.join('.')}.AAAA`;
}

/** Returns the number of fetches so far: each begins with the discovery document. */
function fetches(): number {
  return jwt.provider.requests.filter((path) => path.includes('openid-configuration')).length;
}

describe('Keys', () => {
  it('may be rotated: a new key is accepted within a second, and an old one as long as it is published', async () => {
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);

    jwt.provider.rotate([SECOND, RSA]);
    skipSecond();
    // jose has a cooldown of its own, on the wall clock.
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 1_001);

    expect(await jwt.create(await jwt.provider.token('plants:write'))).toBe(200);
    expect(await jwt.create(old)).toBe(200);
  });

  it('that were withdrawn are refused after the next reload, although no token has a new one', async () => {
    const old = await jwt.provider.token('plants:write');
    expect(await jwt.create(old)).toBe(200);
    jwt.provider.rotate([SECOND]);

    skipReloadInterval();
    await until('the token is refused', async () => (await jwt.create(old)) !== 200);
    expect(jwt.details[0]).toBe('no applicable key found in the JSON Web Key Set');
  });

  it('stay in use while the provider is away, for an hour and longer', async () => {
    // Each has to be verified, because the other one is not remembered.
    const tokens = await Promise.all(['one', 'two'].map((sub) => jwt.sign(jwt.claims({ sub }))));
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    await jwt.provider.stop();
    skipHour();
    skipReloadInterval();
    await until('the outage is logged', () => jwt.service.log().length > 0);

    for (const token of tokens) expect(await jwt.create(token)).toBe(200);
  });

  it('are fetched at the start, in intervals, and no more after the close, although Nest calls hooks twice', async () => {
    const fetched = jest.spyOn(globalThis, 'fetch');
    const times = (): number => fetched.mock.calls.filter(([url]) => url === jwksUrl.href).length;
    const jwksUrl = new URL(`${jwt.provider.issuer}/jwks?of=another`);
    const verifier = newVerifier({ jwksUrl });
    const other = await startService({ verifier });
    verifier.onModuleInit();
    expect(await jwt.create(await jwt.sign(jwt.claims()), other)).toBe(200);
    expect(times()).toBe(1);
    skipReloadInterval();
    expect(times()).toBe(2);

    await other.close();
    verifier.onApplicationShutdown();
    skipReloadInterval();
    expect(times()).toBe(2);
  });

  it('come from jwksUrl alone, with its query, which may have a secret', async () => {
    jwt.provider.reply = () => ({ status: 404 });
    const verifier = newVerifier({ jwksUrl: new URL(`${jwt.provider.issuer}/jwks?key=1`) });
    const other = await startService({ verifier: { verify: (token) => verifier.verify(token) } });
    expect(await jwt.create(await jwt.sign(jwt.claims()), other)).toBe(503);
    jwt.provider.reply = () => ({});
    skipSecond();

    expect(await jwt.create(await jwt.sign(jwt.claims()), other)).toBe(200);
    expect(new Set(jwt.provider.requests)).toEqual(new Set(['/jwks?key=1']));
    expect(other.log()).toContainEqual(
      expect.stringMatching(/cannot be fetched: http:[^?\s]+\/jwks answers with status 404\n/),
    );
    await other.close();
  });

  it('come from the discovery document of an issuer that ends with a slash', async () => {
    const issuer = `${jwt.provider.issuer}/`;
    // OpenID Connect Discovery 1.0 §4: the path follows the issuer without this slash.
    const body = JSON.stringify({ issuer, jwks_uri: `${issuer}jwks` });
    jwt.provider.reply = (path) => (path === '/.well-known/openid-configuration' ? { body } : {});
    const verifier = newVerifier({ issuer });

    expect(await verifier.verify(await jwt.sign(jwt.claims({ iss: issuer })))).toMatchObject({ name: 'ci', issuer });
  });

  it('come over http from another machine only if the operator allows it, from each of the two URLs', async () => {
    // The address leads to this machine, but is not one of loopback.
    const issuer = jwt.provider.issuer.replace('127.0.0.1', '0.0.0.0');
    jwt.provider.reply = (path) =>
      path.includes('openid') ? { body: JSON.stringify({ issuer, jwks_uri: `${issuer}/jwks` }) } : {};
    const token = await jwt.sign(jwt.claims({ iss: issuer }));
    const settings = [{ issuer }, { issuer, jwksUrl: new URL(`${issuer}/jwks`) }];
    for (const each of settings) {
      await expect(newVerifier(each).verify(token)).rejects.toThrow('Service Unavailable');
      expect(jwt.provider.requests).toEqual([]);
    }
    for (const each of settings) {
      expect(await newVerifier({ ...each, allowHttp: true }).verify(token)).toMatchObject({ name: 'ci' });
    }
  });
});

describe('A provider', () => {
  it.each([
    { what: 'answers', reply: {}, errors: [401] },
    { what: 'answers with status 500', reply: { status: 500 }, errors: [503] },
    { what: 'resets connections', reply: { resets: true }, errors: [503] },
  ])(
    'that $what is asked at most once a second for all strangers, who disturb no holder of a known key',
    async ({ reply, errors }) => {
      expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
      const known = await Promise.all(['a', 'b', 'c', 'd'].map((sub) => jwt.sign(jwt.claims({ sub }))));
      const before = fetches();
      jwt.provider.reply = () => reply;
      skipSecond();
      jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 1_001);
      const began = performance.now();
      const answers: (number | undefined)[] = [];
      const askAgainAndAgain = async (stranger: number): Promise<void> => {
        for (let attempt = 0; attempt < 25; attempt += 1)
          answers.push(await jwt.create(forge(`${stranger}-${attempt}`)));
      };
      const strangers = Array.from({ length: 8 }, (_, stranger) => askAgainAndAgain(stranger));
      for (const token of known) expect(await jwt.create(token)).toBe(200);
      await Promise.all(strangers);
      const seconds = (performance.now() - began) / 1_000;

      expect([...new Set(answers)]).toEqual(errors);
      expect(fetches() - before).toBeGreaterThan(0);
      expect(fetches() - before).toBeLessThanOrEqual(1 + seconds);
    },
  );

  it('that hangs delays nobody who needs no new key', async () => {
    const known = await jwt.sign(jwt.claims());
    expect(await jwt.create(known)).toBe(200);
    // It must be verified, with a known key.
    const other = await jwt.sign(jwt.claims({ sub: 'another' }));
    let release = (): void => undefined;
    const released = new Promise<object>((resolve) => (release = () => resolve({})));
    jwt.provider.reply = () => released;
    skipSecond();
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 1_001);
    const strangers = Promise.all(Array.from({ length: 8 }, (_, kid) => jwt.create(forge(`${kid}`))));
    await until('the provider is asked', () => fetches() === 2);

    for (const token of [TOKEN, known, other]) expect(await jwt.create(token)).toBe(200);
    release();
    expect(new Set(await strangers)).toEqual(new Set([401]));
  });

  it('that is unavailable causes error 503 with Retry-After only for tokens that need it, until it is back', async () => {
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

  it.each<{ what: string; path: string; reply: (issuer: string) => { status?: number; body?: string } }>([
    {
      what: 'has another issuer',
      path: 'openid',
      reply: (issuer) => ({ body: JSON.stringify({ issuer: 'https://elsewhere', jwks_uri: `${issuer}/jwks` }) }),
    },
    {
      what: 'has its keys on a URL in clear text',
      path: 'openid',
      reply: (issuer) => ({
        body: JSON.stringify({ issuer, jwks_uri: `${issuer.replace('127.0.0.1', '0.0.0.0')}/jwks` }),
      }),
    },
    { what: 'names no keys', path: 'openid', reply: (issuer) => ({ body: JSON.stringify({ issuer }) }) },
    { what: 'redirects', path: 'openid', reply: () => ({ status: 302, location: '/elsewhere' }) },
    { what: 'sends HTML', path: 'openid', reply: () => ({ body: '<html>' }) },
    { what: 'sends no keys', path: 'jwks', reply: () => ({ body: '{"keys":1}' }) },
  ])('that $what causes error 503, and its fault is logged', async ({ path, reply }) => {
    jwt.provider.reply = (requested) => (requested.includes(path) ? reply(jwt.provider.issuer) : {});

    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(503);
    expect(jwt.provider.requests).not.toContain('/elsewhere');
    expect(jwt.service.log()).toEqual([expect.stringMatching(/^The keys of http:\S+ cannot be fetched: /)]);
  });

  it('has five seconds to answer, and its faults and their end are logged once', async () => {
    const limits = jest.spyOn(AbortSignal, 'timeout');
    const lines = jest.spyOn(Logger.prototype, 'log');
    jwt.provider.reply = () => ({ status: 500 });
    const token = await jwt.sign(jwt.claims(), { kid: 'unknown' });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (attempt === 3) jwt.provider.reply = () => ({});
      await jwt.verifier.verify(token).catch(() => undefined);
      skipSecond();
    }

    expect(new Set(limits.mock.calls.flat())).toEqual(new Set([5_000]));
    const { issuer } = jwt.provider;
    const document = `${issuer}/.well-known/openid-configuration`;
    expect(jwt.service.log()).toEqual([
      expect.stringContaining(`The keys of ${issuer} cannot be fetched: ${document} answers with status 500`),
    ]);
    expect(lines.mock.calls).toEqual([[`The keys of ${issuer} can be fetched again`]]);
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
