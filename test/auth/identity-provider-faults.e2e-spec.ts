import { jest } from '@jest/globals';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { TOKEN } from '../support/client.js';
import { setClockBack, skipSecond } from '../support/clocks.js';
import { HostileClients } from '../support/hostile-clients.js';
import { message } from '../support/http-messages.js';
import { ask } from '../support/raw-client.js';
import { AUDIENCE, JwtService, newKey, RSA } from '../support/identity-provider.js';
import { startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

let jwt: JwtService;

beforeEach(async () => {
  jwt = await JwtService.start();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await jwt.stop();
});

/** Returns a token of the right issuer, but without a signature, that names an unknown key. */
function forge(kid: string): string {
  const header = { alg: 'RS256', typ: 'at+jwt', kid };
  const parts = [header, jwt.claims()].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return `${parts.join('.')}.AAAA`;
}

/** Returns the bytes of a request with such a token. */
function request(kid: string): string {
  return message({ authorization: [`Authorization: Bearer ${forge(kid)}`] });
}

/** Lets the provider answer no request until the returned function is called, and then in this way. */
function letProviderHang(reply: object = {}): () => void {
  let release = (): void => undefined;
  const released = new Promise<object>((resolve) => (release = () => resolve(reply)));
  jwt.provider.reply = () => released;
  return release;
}

describe('An identity provider', () => {
  it.each([
    { what: 'answers', reply: {}, error: 401 },
    { what: 'answers with status 500', reply: { status: 500 }, error: 503 },
    { what: 'resets connections', reply: { resets: true }, error: 503 },
  ])('that $what is asked at most once a second, and every stranger gets error $error', async ({ reply, error }) => {
    jwt.provider.reply = () => reply;
    const began = performance.now();
    const answers: (number | undefined)[] = [];
    const askAgainAndAgain = async (stranger: number): Promise<void> => {
      for (let attempt = 0; attempt < 25; attempt += 1) answers.push(await jwt.create(forge(`${stranger}-${attempt}`)));
    };
    await Promise.all(Array.from({ length: 8 }, (_, stranger) => askAgainAndAgain(stranger)));
    const seconds = (performance.now() - began) / 1_000;

    expect(answers).toEqual(Array.from({ length: 200 }, () => error));
    const fetches = jwt.provider.requests.filter((path) => path.includes('openid-configuration')).length;
    expect(fetches).toBeGreaterThan(0);
    expect(fetches).toBeLessThanOrEqual(1 + seconds);
  });

  it('that fails while as many requests as possible wait for it is asked again after a second', async () => {
    const release = letProviderHang({ resets: true });
    const token = await jwt.sign(jwt.claims());
    const waiting = Array.from({ length: 21 }, () => jwt.create(token));
    // The one that is answered first is one more than may wait.
    expect(await Promise.race(waiting)).toBe(503);
    release();
    expect(await Promise.all(waiting)).toEqual(Array(21).fill(503));
    jwt.provider.reply = () => ({});
    skipSecond();

    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
  });

  it('is asked again for a key that it has published while a slow reload went on', async () => {
    const keys = await (await fetch(`${jwt.provider.issuer}/jwks`)).text();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let isFirst = true;
    jwt.provider.reply = async (path) => {
      if (path.includes('openid-configuration') || !isFirst) return {};
      isFirst = false;
      await released;
      return { body: keys };
    };
    const stranger = jwt.verifier.verify(forge('invented'));
    await until('the reload has asked for the keys', () => !isFirst);
    jwt.provider.rotate([await newKey('RS256', 'second'), RSA]);
    const token = await jwt.provider.token('plants:write');
    const verified = jwt.verifier.verify(token);
    skipSecond();
    setImmediate(release);

    expect(await verified).toMatchObject({ scopes: ['plants:write'] });
    expect(await stranger).toBe('unknown-key');
  });

  it('is asked for a new key although the clock has stepped back', async () => {
    expect(await jwt.create(await jwt.sign(jwt.claims()))).toBe(200);
    jwt.provider.rotate([await newKey('RS256', 'second'), RSA]);
    setClockBack();
    skipSecond();

    expect(await jwt.create(await jwt.provider.token('plants:write'))).toBe(200);
  });

  it('that sends more than 1 MiB counts as unavailable', async () => {
    const document = await (await fetch(`${jwt.provider.issuer}/.well-known/openid-configuration`)).text();
    const padWith = (spaces: number) => (path: string) =>
      path.includes('openid-configuration') ? { body: ' '.repeat(spaces) + document } : {};
    const token = await jwt.sign(jwt.claims());

    jwt.provider.reply = padWith(1_048_576);
    expect(await jwt.create(token)).toBe(503);
    jwt.provider.reply = padWith(1_000_000);
    skipSecond();
    expect(await jwt.create(token)).toBe(200);
  });

  it('that sends deep JSON does not end the service', async () => {
    const deep = '['.repeat(2_500) + ']'.repeat(2_500);
    jwt.provider.reply = (path) =>
      path.includes('openid-configuration') ? {} : { body: `{"keys":[],"deep":${deep}}` };
    const variables = { ...WITH_TOKEN, JWT_ISSUER: jwt.provider.issuer, JWT_AUDIENCE: AUDIENCE };
    const { service, url } = await directory.start(variables);

    expect([401, 503]).toContain(await ask(url, await jwt.sign(jwt.claims())));
    expect(await ask(url)).toBe(200);
    expect(await service.stop()).toBe(0);
  });

  it('is waited for at the start, so that the keys are known to any number of first tokens', async () => {
    const events: string[] = [];
    jwt.provider.reply = (path) => {
      events.push(path.includes('openid-configuration') ? 'sent its configuration' : 'sent its keys');
      return {};
    };
    const verifier = new JwtVerifier({ issuer: jwt.provider.issuer, audience: AUDIENCE });
    await verifier.onModuleInit();
    events.push('started');
    const token = await jwt.sign(jwt.claims());
    const principals = await Promise.all(Array.from({ length: 40 }, () => verifier.verify(token)));

    expect(events).toEqual(['sent its configuration', 'sent its keys', 'started']);
    expect(principals).toHaveLength(40);
    verifier.onApplicationShutdown();
  });

  it('that hangs neither prevents the start nor delays a token that does not need its keys', async () => {
    // A fetch that has no time limit cannot end before the start.
    jest.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
    const release = letProviderHang();
    const service = await startService({
      verifier: new JwtVerifier({ issuer: jwt.provider.issuer, audience: AUDIENCE }),
    });
    const waiting = jwt.create(await jwt.sign(jwt.claims()));

    expect(await Promise.race([jwt.create(TOKEN), waiting])).toBe(200);
    release();
    expect(await waiting).toBe(200);
    await service.close();
  });

  it('that hangs holds 20 requests, and the others are answered at once', async () => {
    const known = await jwt.sign(jwt.claims());
    // It must be verified, with a known key.
    const other = await jwt.sign(jwt.claims({ sub: 'another' }));
    expect(await jwt.create(known)).toBe(200);
    const answers: (number | undefined)[] = [];
    const release = letProviderHang();
    skipSecond();
    const strangers = Array.from({ length: 40 }, async (_, kid) => answers.push(await jwt.create(forge(`${kid}`))));
    await until('those beyond the limit have their answers', () => answers.length === 20);

    for (const token of [TOKEN, known, other]) expect(await jwt.create(token)).toBe(200);
    skipSecond();
    expect(await jwt.create(forge('late'))).toBe(503);
    expect(answers).toEqual(Array.from({ length: 20 }, () => 503));
    release();
    await Promise.all(strangers);
    expect(answers.slice(20)).toEqual(Array.from({ length: 20 }, () => 401));
  });

  it.each([
    { connections: 2_050, variables: {} },
    // Fewer than may wait: a newcomer takes the place of the one that has waited the longest.
    { connections: 18, variables: { MAX_CONNECTIONS: '15' } },
  ])(
    'that hangs keeps no honest client out, although $connections strangers wait for it, with $variables',
    async ({ connections, variables }) => {
      letProviderHang();
      const { url } = await directory.start({
        ...WITH_TOKEN,
        JWT_ISSUER: jwt.provider.issuer,
        JWT_AUDIENCE: AUDIENCE,
        ...variables,
      });
      const strangers = new HostileClients({ url, token: '' }, { connections, bytes: (_, kid) => [request(`${kid}`)] });
      await until('all strangers have come', () => strangers.isOpen && jwt.provider.requests.length > 0);

      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(url)));
      expect(answers).toEqual(Array.from({ length: 10 }, () => 200));
      await strangers.stop();
    },
  );
});
