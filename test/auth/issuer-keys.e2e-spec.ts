import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { JwtSettings } from '../../src/auth/access-token.js';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { ask } from '../support/raw-client.js';
import { AUDIENCE, EC, IdentityProvider, newKey, RSA } from '../support/identity-provider.js';
import { startService } from '../support/service.js';
import { until } from '../support/until.js';

const [SECOND, RELOAD_INTERVAL, HOUR] = [1_001, 240_000, 3_600_000];

/** A key that the provider changes to. All tests share it, because its creation takes a fifth of a second of CPU. */
const SECOND_KEY = await newKey('RS256', 'second');

let provider: IdentityProvider;
let verifier: JwtVerifier;

/** The logged errors about this provider: a reload of another test may end late. */
let errors: string[];

beforeEach(async () => {
  // The clocks and the intervals move only where a test advances them; the network needs the other timers.
  jest.useFakeTimers({ doNotFake: ['hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout'] });
  errors = [];
  jest.spyOn(Logger.prototype, 'error').mockImplementation((text: string) => {
    if (text.includes(provider.issuer)) errors.push(text);
  });
  provider = new IdentityProvider();
  await provider.start([RSA, EC]);
  verifier = newVerifier();
});

afterEach(async () => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  await provider.stop();
});

/** Its timer is one of the fake ones, and ends with the test. */
function newVerifier(settings: Partial<JwtSettings> = {}): JwtVerifier {
  return new JwtVerifier({ issuer: provider.issuer, audience: AUDIENCE, ...settings });
}

/** Returns whether a token is accepted; false if the service would answer with error 401, undefined for error 503. */
async function accepts(token: string): Promise<boolean | undefined> {
  try {
    return 'name' in ((await verifier.verify(token)) ?? {});
  } catch (error) {
    expect(error).toMatchObject({ status: 503 });
    return undefined;
  }
}

/** Returns a token of the right issuer, but without a signature, that names an unknown key. */
function forge(kid: string): string {
  const header = { alg: 'RS256', typ: 'at+jwt', kid };
  const parts = [header, provider.claims()].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return `${parts.join('.')}.AAAA`;
}

/** Returns tokens that each have to be verified, because none of them is remembered. */
function newTokens(...subjects: readonly string[]): Promise<string[]> {
  return Promise.all(subjects.map((sub) => provider.sign({ sub })));
}

/** Returns the number of fetches so far: each begins with the discovery document. */
function fetches(): number {
  return provider.requests.filter((path) => path.includes('openid-configuration')).length;
}

describe('Keys', () => {
  it('may be rotated: a new key is accepted within a second, and an old one as long as it is published', async () => {
    const old = await newTokens('one', 'two');
    expect(await accepts(old[0] ?? '')).toBe(true);

    provider.rotate([SECOND_KEY, RSA]);
    jest.advanceTimersByTime(SECOND);

    expect(await accepts(await provider.token('plants:write'))).toBe(true);
    for (const token of old) expect(await accepts(token)).toBe(true);
  });

  it('that were withdrawn are refused after the next reload, although no token has a new one', async () => {
    const old = await provider.sign();
    expect(await accepts(old)).toBe(true);
    provider.rotate([SECOND_KEY]);

    jest.advanceTimersByTime(RELOAD_INTERVAL);
    await until('the token is refused', async () => !(await accepts(old)));
    const detail = 'no applicable key found in the JSON Web Key Set';
    expect(await verifier.verify(old)).toEqual({ refused: 'invalid', detail });
  });

  it('stay in use while the provider is away, for an hour and longer', async () => {
    expect(await accepts(await provider.sign())).toBe(true);
    await provider.stop();
    jest.advanceTimersByTime(HOUR);
    await until('the outage is logged', () => errors.length > 0);

    expect(await accepts(await provider.sign())).toBe(true);
  });

  it('are fetched at the start, in intervals, and no more after the close', async () => {
    const service = await startService({ verifier });
    expect(await ask(service.url, await provider.sign())).toBe(200);
    expect(fetches()).toBe(1);
    jest.advanceTimersByTime(RELOAD_INTERVAL);
    await until('the keys are fetched again', () => fetches() === 2);

    await service.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('come from jwksUrl alone, with its query, which may have a secret', async () => {
    verifier = newVerifier({ jwksUrl: new URL(`${provider.issuer}/jwks?key=1`) });
    provider.reply = () => ({ status: 404 });
    expect(await accepts(await provider.sign())).toBeUndefined();
    provider.reply = () => ({});
    jest.advanceTimersByTime(SECOND);

    expect(await accepts(await provider.sign())).toBe(true);
    expect(new Set(provider.requests)).toEqual(new Set(['/jwks?key=1']));
    expect(errors).toEqual([expect.stringMatching(/cannot be fetched: http:[^?\s]+\/jwks answers with status 404$/)]);
  });

  it('come from the discovery document of an issuer that ends with a slash', async () => {
    const issuer = `${provider.issuer}/`;
    // OpenID Connect Discovery 1.0 §4: the path follows the issuer without this slash.
    const body = JSON.stringify({ issuer, jwks_uri: `${issuer}jwks` });
    provider.reply = (path) => (path === '/.well-known/openid-configuration' ? { body } : {});
    verifier = newVerifier({ issuer });

    expect(await accepts(await provider.sign({ iss: issuer }))).toBe(true);
  });

  it('come over http from another machine only if the operator allows it, from each of the two URLs', async () => {
    // The address leads to this machine, but is not one of loopback.
    const issuer = provider.issuer.replace('127.0.0.1', '0.0.0.0');
    const body = JSON.stringify({ issuer, jwks_uri: `${issuer}/jwks` });
    provider.reply = (path) => (path.includes('openid') ? { body } : {});
    const token = await provider.sign({ iss: issuer });
    const settings = [{ issuer }, { issuer, jwksUrl: new URL(`${issuer}/jwks`) }];
    for (const each of settings) {
      verifier = newVerifier(each);
      expect(await accepts(token)).toBeUndefined();
    }
    expect(provider.requests).toEqual([]);
    for (const each of settings) {
      verifier = newVerifier({ ...each, allowHttp: true });
      expect(await accepts(token)).toBe(true);
    }
  });
});

describe('A provider', () => {
  it.each([
    { what: 'answers', reply: {}, answer: false },
    { what: 'answers with status 500', reply: { status: 500 }, answer: undefined },
    { what: 'resets connections', reply: { resets: true }, answer: undefined },
  ])(
    'that $what is asked once in a second for all strangers, who disturb no holder of a known key',
    async ({ reply, answer }) => {
      const [first = '', ...known] = await newTokens('one', 'two', 'three');
      expect(await accepts(first)).toBe(true);
      const before = fetches();
      provider.reply = () => reply;
      jest.advanceTimersByTime(SECOND);
      const strangers = ['a', 'b', 'c', 'd'].map(async (stranger) => {
        for (let attempt = 0; attempt < 20; attempt += 1) {
          expect(await accepts(forge(`${stranger}-${attempt}`))).toBe(answer);
        }
      });
      for (const token of known) expect(await accepts(token)).toBe(true);
      await Promise.all(strangers);

      expect(fetches() - before).toBe(1);
    },
  );

  it('that hangs delays nobody who needs no new key', async () => {
    const known = await newTokens('one', 'two');
    expect(await accepts(known[0] ?? '')).toBe(true);
    let release = (): void => undefined;
    const released = new Promise<object>((resolve) => (release = () => resolve({})));
    provider.reply = () => released;
    jest.advanceTimersByTime(SECOND);
    const strangers = Promise.all(['a', 'b', 'c'].map((kid) => accepts(forge(kid))));
    await until('the provider is asked', () => fetches() === 2);

    for (const token of known) expect(await accepts(token)).toBe(true);
    release();
    expect(await strangers).toEqual([false, false, false]);
  });

  it('that is away causes error 503 only for tokens that need it, until it is back', async () => {
    const token = await provider.token('plants:write');
    await provider.stop();

    expect(await accepts(token)).toBeUndefined();
    expect(await accepts(await provider.sign({ iss: 'https://elsewhere.example.com' }))).toBe(false);
    expect(await verifier.verify('no-token-of-ours')).toBeUndefined();

    await provider.start([RSA, EC]);
    jest.advanceTimersByTime(SECOND);
    expect(await accepts(token)).toBe(true);
  });

  it.each<{
    what: string;
    path: string;
    reply: (issuer: string) => { status?: number; body?: string };
    fault?: RegExp;
  }>([
    {
      what: 'names keys on http',
      path: 'openid',
      reply: (issuer) => ({ body: JSON.stringify({ issuer, jwks_uri: 'http://keys.example/jwks' }) }),
      fault: /http:\/\/keys\.example\/jwks is not https/,
    },
    {
      what: 'has another issuer',
      path: 'openid',
      reply: (issuer) => ({ body: JSON.stringify({ issuer: 'https://elsewhere', jwks_uri: `${issuer}/jwks` }) }),
    },
    { what: 'names no keys', path: 'openid', reply: (issuer) => ({ body: JSON.stringify({ issuer }) }) },
    { what: 'redirects', path: 'openid', reply: () => ({ status: 302, location: '/elsewhere' }) },
    { what: 'sends HTML', path: 'openid', reply: () => ({ body: '<html>' }) },
    { what: 'sends no keys', path: 'jwks', reply: () => ({ body: '{"keys":1}' }) },
  ])('that $what causes error 503, and its fault is logged', async ({ path, reply, fault = /./ }) => {
    provider.reply = (requested) => (requested.includes(path) ? reply(provider.issuer) : {});

    expect(await accepts(await provider.sign())).toBeUndefined();
    expect(provider.requests).not.toContain('/elsewhere');
    expect(errors).toEqual([expect.stringMatching(/^The keys of http:\S+ cannot be fetched: /)]);
    expect(errors[0]).toMatch(fault);
  });

  it('has five seconds to answer, and its faults and their end are logged once', async () => {
    const limits = jest.spyOn(AbortSignal, 'timeout');
    const lines = jest.spyOn(Logger.prototype, 'log');
    provider.reply = () => ({ status: 500 });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (attempt === 3) provider.reply = () => ({});
      await accepts(forge('unknown'));
      jest.advanceTimersByTime(SECOND);
    }

    expect(new Set(limits.mock.calls.flat())).toEqual(new Set([5_000]));
    const { issuer } = provider;
    const document = `${issuer}/.well-known/openid-configuration`;
    expect(errors).toEqual([`The keys of ${issuer} cannot be fetched: ${document} answers with status 500`]);
    expect(lines.mock.calls).toEqual([[`The keys of ${issuer} can be fetched again`]]);
  });
});
