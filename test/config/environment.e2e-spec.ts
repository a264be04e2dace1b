import { once } from 'node:events';
import { connect } from 'node:tls';
import { VARIABLES } from '../../src/config/load-configuration.js';
import { installCertificate, readPem } from '../support/certificates.js';
import { create, CREATED, MONSTERA, post, refusal, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { AUDIENCE, IdentityProvider, now, RSA, signToken } from '../support/identity-provider.js';
import { creation } from '../support/http-messages.js';
import { ask, openRequest, RawClient } from '../support/raw-client.js';
import { occupyPort } from '../support/ports.js';
import { ServiceDirectory, type Started, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { line } from '../support/token-file.js';

const directory = ServiceDirectory.ofEachTest();
const provider = new IdentityProvider();

beforeAll(() => provider.start([RSA]));
afterAll(() => provider.stop());

/** Expects that the service does not start, but prints one line. */
async function expectRefusal(variables: Variables, complaint: RegExp): Promise<void> {
  const failure = await directory.failedStart({ ...WITH_TOKEN, ...variables });

  expect(failure).toEqual({ status: 2, complaint: expect.stringMatching(/^plant-store: [^\n]+\n$/) as unknown });
  expect(failure.complaint.trimEnd()).toMatch(complaint);
  expect(failure.complaint).not.toContain('user:secret');
}

describe('The environment', () => {
  it('is completed by .env in the working directory, even if that begins with a byte order mark', async () => {
    directory.write('.env', `\uFEFFBASE_PATH=/from-the-file\r\n# for the tests\nACCESS_TOKENS="${TOKEN}"`);

    const { url } = await directory.start({});

    expect(new URL(url).pathname).toBe('/from-the-file');
    expect(await create(url)).toEqual(CREATED);
  });

  it('overrides .env', async () => {
    directory.write('.env', `ACCESS_TOKENS=${SECOND_TOKEN}\nBASE_PATH=/from-the-file\n`);

    const { url } = await directory.start({ ...WITH_TOKEN, BASE_PATH: '/from-the-environment' });

    expect(new URL(url).pathname).toBe('/from-the-environment');
    expect(await create(url)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(refusal(401));
  });

  it('overrides no variable of .env with an empty one', async () => {
    directory.write('.env', `ACCESS_TOKENS=${TOKEN}\nBASE_PATH=/from-the-file\n`);

    const { url } = await directory.start({ ACCESS_TOKENS: '', BASE_PATH: '' });

    expect(new URL(url).pathname).toBe('/from-the-file');
    expect(await create(url)).toEqual(CREATED);
  });

  it('does not decide between both forms of a variable', async () => {
    directory.write('.env', 'DATABASE_URL=sqlite:plants.db');

    await expectRefusal(
      { DATABASE_URL_FILE: 'url' },
      /DATABASE_URL and DATABASE_URL_FILE exclude each other: set one of them$/,
    );
  });

  it('is completed by the file of node --env-file instead of .env', async () => {
    directory.write('.env', 'BASE_PATH=/from-the-directory');
    directory.write('environment', `BASE_PATH=/from-the-file\nACCESS_TOKENS=${TOKEN}`);
    const wrapper = ['sh', '-c', 'exec "$0" --env-file=environment "$@"'];

    const { url } = await directory.start({}, { wrapper });

    expect(new URL(url).pathname).toBe('/from-the-file');
  });

  it('may have empty variables, which count as unset', async () => {
    const empty = Object.fromEntries(VARIABLES.map((name) => [name, '']));

    const { token, url } = await directory.firstStart({ ...empty, PORT: '0', MANAGEMENT_PORT: 'off' });

    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    expect(directory.names()).toEqual(['Monstera']);
  });
});

describe('A variable with an invalid value', () => {
  it('ends the start with status 2 and one line', async () => {
    await expectRefusal({ PORT: '65536' }, /^plant-store: PORT must be a number from 0 to 65535, for example 8080$/);
  });

  it('has a line of its own beside others', async () => {
    const { status, complaint } = await directory.failedStart({ PORT: '65536', LOG_LEVEL: 'loud' });

    expect(complaint).toMatch(/^plant-store: PORT [^\n]+\nplant-store: LOG_LEVEL [^\n]+\n$/);
    expect(status).toBe(2);
  });
});

describe('A setting of an older version', () => {
  it('is told in a warning with what to do instead, at a start and by check', async () => {
    directory.write('.env', 'MANAGEMENT_ALLOWED_HOSTS=plants\n');
    const { service } = await directory.start({ ...WITH_TOKEN, WORKERS: '4', DATABASE_POOL_SIZE: '' });
    await service.stop();

    const warnings = service.lines.filter((text) => text.includes('"level":"warn"'));
    expect(warnings).toHaveLength(2);
    expect(service.stdout).toContain(
      'MANAGEMENT_ALLOWED_HOSTS has no effect any more: the management listener answers every Host',
    );
    expect(service.stdout).toContain('WORKERS has no effect any more: start several instances, ');
    const { stderr } = await directory.run('check', [], { WORKERS: '4' });
    expect(stderr).toContain('warning: WORKERS has no effect any more: start several instances, ');
  });
});

describe('.env', () => {
  it.each([
    [`ACCESS_TOKENS=${TOKEN}`, 0o644, 1],
    [`ACCESS_TOKENS=${TOKEN}`, 0o640, 0],
    ['BASE_PATH=/v1', 0o644, 0],
  ])('with %s and the mode %d has warnings: %d', async (text, mode, warnings) => {
    directory.write('.env', text, mode);

    const { service } = await directory.start({});
    await service.stop();

    const lines =
      service.stdout.match(/"level":"warn".*"other users can read the secrets in \.env: chmod 600 \.env"/g) ?? [];
    expect(lines).toHaveLength(warnings);
  });
});

describe('DATABASE_URL_FILE', () => {
  it.each<[what: string, variables: Variables, complaint: RegExp]>([
    [
      'lets other users read its file',
      { DATABASE_URL_FILE: 'open' },
      /DATABASE_URL_FILE: open can be read or written by other users: chmod 600 open$/,
    ],
    ['names no file', { DATABASE_URL_FILE: 'none' }, /DATABASE_URL_FILE: there is no file none: name one that exists$/],
    ['is empty', { DATABASE_URL_FILE: 'empty' }, /DATABASE_URL must be a URL /],
    [
      'has another text',
      { DATABASE_URL_FILE: 'url' },
      /DATABASE_URL must be a URL .* for example \S+ or postgres:\/\/user@localhost\/plants$/,
    ],
    [
      'stands beside DATABASE_URL',
      { DATABASE_URL_FILE: 'url', DATABASE_URL: 'sqlite:plants.db' },
      /DATABASE_URL and DATABASE_URL_FILE exclude each other: set one of them$/,
    ],
  ])('that %s ends the start with status 2, and is not shown', async (_, variables, complaint) => {
    directory.write('url', 'mysql://user:secret@localhost/plants\n');
    directory.write('empty', '\n');
    directory.write('open', 'sqlite:plants.db', 0o644);

    await expectRefusal(variables, complaint);
  });
});

/** Milliseconds that are less than the default of a limit, with time to spare for a busy machine. */
const SHORTER = { thanDefaultOf5s: 4_500, thanDefaultOf10s: 9_000, thanDefaultOf30s: 27_000 };

/** Starts the program with a token and these settings. */
function start(variables: Variables): Promise<Started> {
  return directory.start({ ...WITH_TOKEN, ...variables });
}

/** Starts the program with the identity provider of the tests and these settings. */
function startWithIssuer(variables: Variables = {}): Promise<Started> {
  return directory.start({ JWT_ISSUER: provider.issuer, JWT_AUDIENCE: AUDIENCE, ...variables });
}

/** Returns the milliseconds that an event takes. */
async function timeOf(event: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await event;
  return performance.now() - begun;
}

/** Sends the request with which a browser asks whether a page of this origin may create plants. */
function preflight(url: string, origin = 'https://plants.example'): Promise<Response> {
  const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST' };
  return fetch(`${url}/plants`, { method: 'OPTIONS', headers });
}

describe('Each setting takes effect in the program:', () => {
  const names: string[] = [];

  function row(name: string, effect: string, show: () => Promise<void>): void {
    names.push(name);
    it(`${name} ${effect}`, show);
  }

  row('HOST', 'is the address that it listens on', async () => {
    const { url } = await start({ HOST: '127.0.0.2' });
    expect(new URL(url).hostname).toBe('127.0.0.2');
    expect(await create(url)).toEqual(CREATED);
    await expect(create(url.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow('fetch failed');
  });

  row('PORT', 'is the port that it listens on, and ends the start if another program has it', async () => {
    const taken = await occupyPort();
    const failure = await directory.failedStart({ ...WITH_TOKEN, PORT: `${taken.port}` });
    taken.free();
    expect(failure.complaint).toContain(`127.0.0.1:${taken.port}`);
  });

  row('BASE_PATH', 'stands before /plants', async () => {
    const { url } = await start({ BASE_PATH: '/garden/v1' });
    expect(new URL(url).pathname).toBe('/garden/v1');
    expect(await create(url)).toEqual(CREATED);
    expect(await create(new URL(url).origin)).toEqual(refusal(404));
  });

  row('DATABASE_URL', 'names the database', async () => {
    const { url } = await start({ DATABASE_URL: 'sqlite:elsewhere/p.db' });
    expect(await create(url)).toEqual(CREATED);
    expect(directory.names('elsewhere/p.db')).toEqual(['Monstera']);
  });

  row('DATABASE_URL_FILE', 'names a file with the URL of the database', async () => {
    directory.write('url', 'sqlite:from/file.db\n');
    const { url } = await start({ DATABASE_URL_FILE: 'url' });
    expect(await create(url)).toEqual(CREATED);
    expect(directory.names('from/file.db')).toEqual(['Monstera']);
  });

  row('DATABASE_START_TIMEOUT', 'ends the start if the database server cannot be reached for so long', async () => {
    // There is no socket of a server in this directory. Another limit would end the start later.
    const database = `postgres://plants@localhost/plants?host=${directory.path}`;
    const variables = { DATABASE_URL: database, DATABASE_START_TIMEOUT: '200ms', STORE_TIMEOUT: '40s' };
    const service = directory.launch({ ...WITH_TOKEN, ...variables });
    expect(await timeOf(service.ended)).toBeLessThan(SHORTER.thanDefaultOf30s);
    expect(service.stderr).toContain('cannot be used: connect ENOENT');
  });

  row('STORE_TIMEOUT', 'ends the wait for a locked database with error 503', async () => {
    const { url } = await start({ STORE_TIMEOUT: '100ms' });
    directory.openDatabase().exec('BEGIN IMMEDIATE');
    const answer = create(url);
    expect(await timeOf(answer)).toBeLessThan(SHORTER.thanDefaultOf5s);
    expect(await answer).toEqual(refusal(503));
  });

  row('ACCESS_TOKENS', 'are the accepted tokens', async () => {
    const { url } = await start({ ACCESS_TOKENS: `${TOKEN}, ${SECOND_TOKEN}` });
    expect(await Promise.all([TOKEN, SECOND_TOKEN, 'another'].map((token) => ask(url, token)))).toEqual([
      200, 200, 401,
    ]);
  });

  row('ACCESS_TOKENS_FILE', 'names a file with the accepted tokens', async () => {
    directory.write('tokens', line('second', SECOND_TOKEN));
    const { url } = await directory.start({ ACCESS_TOKENS_FILE: 'tokens' });
    expect(await Promise.all([TOKEN, SECOND_TOKEN].map((token) => ask(url, token)))).toEqual([401, 200]);
  });

  row('JWT_ISSUER', 'is the identity provider whose access tokens it accepts', async () => {
    // The static token looks like a JWT.
    const { service, url } = await startWithIssuer({ ACCESS_TOKENS: 'a.static.token' });
    expect(service.stdout).toContain(`"message":"JWTs: ${provider.issuer} for ${AUDIENCE}"`);
    expect(await ask(url, 'a.static.token')).toBe(200);
    expect(await ask(url, await provider.token('plants:write'))).toBe(200);
    const claims = { aud: AUDIENCE, sub: 'ci', scope: 'plants:write', exp: now() + 300 };
    expect(await ask(url, await signToken({ ...claims, iss: provider.issuer }))).toBe(200);
    expect(await ask(url, await signToken({ ...claims, iss: 'https://elsewhere.example.com' }))).toBe(401);
  });

  row('JWT_AUDIENCE', 'is the service that the access tokens must be for', async () => {
    const elsewhere = 'https://elsewhere.example.com';
    const token = await provider.token('plants:write');
    expect(await ask((await startWithIssuer({ JWT_AUDIENCE: elsewhere })).url, token)).toBe(401);
    expect(await ask((await startWithIssuer({ JWT_AUDIENCE: `${elsewhere}, ${AUDIENCE}` })).url, token)).toBe(200);
  });

  row('JWT_JWKS_URL', 'is where it fetches the keys of the provider, without discovery', async () => {
    provider.requests.length = 0;
    const { url } = await startWithIssuer({ JWT_JWKS_URL: `${provider.issuer}/jwks?from=elsewhere` });
    expect(await ask(url, await provider.token('plants:write'))).toBe(200);
    expect(provider.requests).toContain('/jwks?from=elsewhere');
    expect(provider.requests).not.toContain('/.well-known/openid-configuration');
  });

  row('JWT_ALLOW_HTTP', 'allows a provider without https on another machine', async () => {
    // The address leads to this machine, but is not one of loopback.
    const keys = `${provider.issuer.replace('127.0.0.1', '0.0.0.0')}/jwks`;
    const { url } = await startWithIssuer({ JWT_JWKS_URL: keys, JWT_ALLOW_HTTP: 'on' });
    expect(await ask(url, await provider.token('plants:write'))).toBe(200);
  });

  row('JWT_TYPE', 'is the type that access tokens must have, or JWT for those of most providers', async () => {
    const claims = { iss: provider.issuer, aud: AUDIENCE, scope: 'plants:write', exp: now() + 300 };
    const token = await signToken(claims, { typ: 'JWT' });
    expect(await ask((await startWithIssuer({ JWT_TYPE: 'JWT' })).url, token)).toBe(200);
    expect(await ask((await startWithIssuer({ JWT_TYPE: 'at+jwt' })).url, token)).toBe(401);
  });

  row('REQUIRED_SCOPE', 'is the scope that tokens with scopes must have', async () => {
    const { url } = await startWithIssuer({ REQUIRED_SCOPE: 'plants:read' });
    expect(await ask(url, await provider.token('plants:read'))).toBe(200);
    expect(await ask(url, await provider.token('plants:write'))).toBe(403);
  });

  row('BODY_LIMIT', 'is the size of the largest accepted body', async () => {
    const { url } = await start({ BODY_LIMIT: '1kb' });
    const plant = JSON.stringify(MONSTERA);
    expect(await post(url, plant.padEnd(1_024))).toEqual(CREATED);
    expect(await post(url, plant.padEnd(1_025))).toEqual(refusal(413));
  });

  row('MAX_CONNECTIONS', 'is the number of connections, beyond which one is closed without an answer', async () => {
    const { url } = await start({ MAX_CONNECTIONS: '1' });
    const first = await openRequest(url);
    const second = await RawClient.open(url);
    await second.closed;
    expect(second.received).toBe('');
    first.socket.destroy();
  });

  row('REQUEST_TIMEOUT', 'ends the wait for the rest of a request with error 408', async () => {
    const { url } = await start({ REQUEST_TIMEOUT: '200ms' });
    const client = await RawClient.open(url);
    client.socket.write(creation(1).slice(0, -1));
    expect(await timeOf(client.closed)).toBeLessThan(SHORTER.thanDefaultOf30s);
    expect(client.answers).toEqual([408]);
  });

  row('KEEP_ALIVE_TIMEOUT', 'closes a connection that is idle for so long after an answer', async () => {
    const { url } = await start({ KEEP_ALIVE_TIMEOUT: '100ms' });
    const client = await RawClient.open(url);
    client.socket.write(creation(1));
    expect(await timeOf(client.closed)).toBeLessThan(SHORTER.thanDefaultOf30s);
    expect(client.answers).toEqual([200]);
  });

  row('SHUTDOWN_TIMEOUT', 'ends the wait for requests in flight after a signal to stop', async () => {
    const { service, url } = await start({ SHUTDOWN_TIMEOUT: '100ms' });
    const client = await openRequest(url);
    expect(await timeOf(service.stop())).toBeLessThan(SHORTER.thanDefaultOf10s);
    expect(service.stdout).toContain('Stopped after SHUTDOWN_TIMEOUT');
    expect(client.answers).toEqual([]);
  });

  row('LOG_LEVEL', 'is the minimum severity of lines in the log', async () => {
    const { service, token, url } = await directory.firstStart({ LOG_LEVEL: 'warn' });
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    await service.stop();
    expect(service.stdout).toBe('');
  });

  row(
    'LOG_REQUESTS',
    'lets the log have requests with an error alone, and neither creates nor preflight requests',
    async () => {
      const { service, url } = await start({ LOG_REQUESTS: 'failed', CORS_ORIGINS: 'https://plants.example' });
      expect(await create(url)).toEqual(CREATED);
      expect((await preflight(url)).status).toBe(204);
      expect(await post(url, 'no JSON')).toEqual(refusal(400));
      await service.stop();
      const requests = service.lines
        .map((text) => JSON.parse(text) as object)
        .filter((logged) => 'requestId' in logged);
      expect(requests).toEqual([expect.objectContaining({ error: 400 })]);
    },
  );

  row('MANAGEMENT_HOST', 'is the address of the management listener', async () => {
    const { management } = await directory.startManaged({ MANAGEMENT_HOST: '127.0.0.2' });
    expect((await fetch(`${management}/health/ready`)).status).toBe(200);
    await expect(fetch(management.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow('fetch failed');
  });

  row(
    'MANAGEMENT_PORT',
    'is the port of the management listener, and ends the start if another program has it',
    async () => {
      const taken = await occupyPort();
      const failure = await directory.failedStart({ ...WITH_TOKEN, MANAGEMENT_PORT: `${taken.port}` });
      taken.free();
      expect(failure.complaint).toContain(`127.0.0.1:${taken.port}`);
    },
  );

  row('TLS_CERT_FILE', 'names the certificate, with which it serves HTTPS', async () => {
    const { url } = await start(installCertificate(directory, 'second'));
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    expect(socket.getPeerX509Certificate()?.toString()).toBe(readPem('second.crt'));
    socket.destroy();
  });

  row('TLS_KEY_FILE', 'names the key of the certificate, and no other one', async () => {
    const variables = installCertificate(directory, 'second');
    directory.write('other.key', readPem('first.key'));
    await expectRefusal({ ...variables, TLS_KEY_FILE: 'other.key' }, /must be a certificate and its private key/);
  });

  row('TRUST_PROXY', 'are the proxies that name the addresses of clients', async () => {
    const { service, url } = await start({ TRUST_PROXY: '127.0.0.1' });
    await fetch(url, { headers: { 'X-Forwarded-For': '192.0.2.1' } });
    await service.stop();
    expect(service.stdout).toContain('"address":"192.0.2.1"');
  });

  row('CORS_ORIGINS', 'are the origins whose pages may create plants', async () => {
    const { url } = await start({ CORS_ORIGINS: 'https://plants.example' });
    const allowed = async (origin: string): Promise<string | null> =>
      (await preflight(url, origin)).headers.get('access-control-allow-origin');
    expect(await allowed('https://plants.example')).toBe('https://plants.example');
    expect(await allowed('https://elsewhere.example')).toBeNull();
  });

  it('and none is missing here', () => {
    expect(names.sort()).toEqual([...VARIABLES].sort());
  });
});
