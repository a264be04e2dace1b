/**
 * Each setting takes effect in the program. src/config has the specs of what a value may be, and where it comes from.
 */
import { connect } from 'node:tls';
import { once } from 'node:events';
import { VARIABLES } from '../../src/config/load-configuration.js';
import { installCertificate, readPem } from '../support/certificates.js';
import { create, CREATED, MONSTERA, post, refusal, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { IdentityProvider, now, RSA, signToken } from '../support/identity-provider.js';
import { ask, RawClient, requestTo } from '../support/raw-client.js';
import { reservePort } from '../support/ports.js';
import { ServiceDirectory } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { line } from '../support/token-file.js';
import { until } from '../support/until.js';

/** Milliseconds that are less than the default of a limit, with time to spare for a busy machine. */
const SHORTER = { thanDefaultOf5s: 4_500, thanDefaultOf10s: 9_000, thanDefaultOf30s: 27_000 };

const AUDIENCES = ['https://plants.example.com', 'https://garden.example.com'] as const;

const provider = new IdentityProvider();
const directory = new ServiceDirectory();
const ports = [reservePort(), reservePort()] as const;
let service: ServiceProcess;
/** {base_url}. */
let url: string;
let management: string;

beforeAll(async () => {
  await provider.start([RSA]);
  directory.write('url', 'sqlite:from/file.db\n');
  directory.write('tokens', line('second', SECOND_TOKEN));
  ({ service, url, management } = await directory.startManaged({
    HOST: '127.0.0.2',
    PORT: `${ports[0].port}`,
    BASE_PATH: '/garden/v1',
    DATABASE_URL_FILE: 'url',
    STORE_TIMEOUT: '100ms',
    ACCESS_TOKENS: TOKEN,
    ACCESS_TOKENS_FILE: 'tokens',
    JWT_ISSUER: provider.issuer,
    JWT_AUDIENCE: AUDIENCES.join(', '),
    // The address leads to this machine, but is not one of loopback.
    JWT_JWKS_URL: `${provider.issuer.replace('127.0.0.1', '0.0.0.0')}/jwks?from=elsewhere`,
    JWT_ALLOW_HTTP: 'on',
    JWT_TYPE: 'at+jwt',
    REQUIRED_SCOPE: 'plants:water',
    BODY_LIMIT: '1kb',
    MAX_CONNECTIONS: '20',
    REQUEST_TIMEOUT: '3s',
    KEEP_ALIVE_TIMEOUT: '100ms',
    SHUTDOWN_TIMEOUT: '100ms',
    LOG_REQUESTS: 'failed',
    MANAGEMENT_HOST: '127.0.0.2',
    MANAGEMENT_PORT: `${ports[1].port}`,
    TRUST_PROXY: '127.0.0.0/8',
    CORS_ORIGINS: 'https://plants.example',
    // A setting of an older version.
    WORKERS: '4',
  }));
});

afterAll(async () => {
  await directory.remove();
  await provider.stop();
  for (const port of ports) port.free();
});

/** Returns the milliseconds that an event takes. */
async function timeOf(event: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await event;
  return performance.now() - begun;
}

/** Creates a plant with a JWT that has these claims. */
async function askWithJwt(claims: object, header?: Record<string, unknown>): Promise<number | undefined> {
  const valid = { iss: provider.issuer, aud: AUDIENCES[0], scope: 'plants:water', exp: now() + 300 };
  return ask(url, await signToken({ ...valid, ...claims }, header));
}

/** Sends the request with which a browser asks whether a page of this origin may create plants. */
function preflight(origin: string): Promise<Response> {
  const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST' };
  return fetch(`${url}/plants`, { method: 'OPTIONS', headers });
}

/** Opens a connection, and sends a request without its last byte. */
async function openRequest(): Promise<RawClient> {
  const client = await RawClient.open(url);
  client.socket.write(requestTo(url, TOKEN, JSON.stringify(MONSTERA)).slice(0, -1));
  return client;
}

const shown: string[] = [];

/** Shows the effect of these settings. */
function row(names: string, effect: string, show: () => Promise<void>): void {
  shown.push(...names.split(' and '));
  it(`${names} ${effect}`, show);
}

row('HOST and PORT', 'are the address and the port that it listens on', async () => {
  expect(new URL(url).host).toBe(`127.0.0.2:${ports[0].port}`);
  expect(await create(url)).toEqual(CREATED);
  await expect(create(url.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow('fetch failed');
});

row('BASE_PATH', 'stands before /plants', async () => {
  expect(new URL(url).pathname).toBe('/garden/v1');
  expect(await create(new URL(url).origin)).toEqual(refusal(404));
});

row('DATABASE_URL_FILE', 'names a file with the URL of the database', async () => {
  expect(await create(url)).toEqual(CREATED);
  expect(directory.names('from/file.db')).toEqual(['Monstera']);
});

row('STORE_TIMEOUT', 'ends the wait for a locked database with error 503', async () => {
  const database = directory.openDatabase('from/file.db');
  database.exec('BEGIN IMMEDIATE');
  const answer = create(url, { id: 2, name: 'Ficus' });
  expect(await timeOf(answer)).toBeLessThan(SHORTER.thanDefaultOf5s);
  expect(await answer).toEqual(refusal(503));
  database.close();
});

row('ACCESS_TOKENS and ACCESS_TOKENS_FILE', 'have the accepted tokens', async () => {
  expect(await Promise.all([TOKEN, SECOND_TOKEN, 'another'].map((token) => ask(url, token)))).toEqual([200, 200, 401]);
});

row('JWT_ISSUER', 'is the identity provider whose access tokens it accepts', async () => {
  expect(await askWithJwt({})).toBe(200);
  expect(await askWithJwt({ iss: 'https://elsewhere.example.com' })).toBe(401);
});

row('JWT_AUDIENCE', 'has the services that the access tokens may be for', async () => {
  expect(await Promise.all([...AUDIENCES, 'https://elsewhere.example.com'].map((aud) => askWithJwt({ aud })))).toEqual([
    200, 200, 401,
  ]);
});

row(
  'JWT_JWKS_URL and JWT_ALLOW_HTTP',
  'let it fetch the keys there, also without https, and not by discovery',
  async () => {
    expect(await askWithJwt({})).toBe(200);
    expect(provider.requests).toContain('/jwks?from=elsewhere');
    expect(provider.requests).not.toContain('/.well-known/openid-configuration');
  },
);

row('JWT_TYPE', 'is the type that access tokens must have', async () => {
  expect(await askWithJwt({}, { typ: 'JWT' })).toBe(401);
});

row('REQUIRED_SCOPE', 'is the scope that tokens with scopes must have', async () => {
  expect(await askWithJwt({ scope: 'plants:write' })).toBe(403);
});

row('BODY_LIMIT', 'is the size of the largest accepted body', async () => {
  const plant = JSON.stringify(MONSTERA);
  expect(await post(url, plant.padEnd(1_024))).toEqual(CREATED);
  expect(await post(url, plant.padEnd(1_025))).toEqual(refusal(413));
});

row('MAX_CONNECTIONS', 'is the number of connections, beyond which one is closed without an answer', async () => {
  const clients: RawClient[] = [];
  while (clients.length < 21) clients.push(await RawClient.open(url));
  await clients.at(-1)?.closed;
  expect(clients.at(-1)?.received).toBe('');
  for (const { socket } of clients) socket.destroy();
  await until('it takes connections again', async () => (await ask(url)) === 200);
});

row('REQUEST_TIMEOUT', 'ends the wait for the rest of a request with error 408', async () => {
  const client = await openRequest();
  expect(await timeOf(client.closed)).toBeLessThan(SHORTER.thanDefaultOf30s);
  expect(client.answers).toEqual([408]);
});

row('KEEP_ALIVE_TIMEOUT', 'closes a connection that is idle for so long after an answer', async () => {
  const client = await RawClient.open(url);
  client.socket.write(requestTo(url, TOKEN, JSON.stringify(MONSTERA)));
  expect(await timeOf(client.closed)).toBeLessThan(SHORTER.thanDefaultOf30s);
  expect(client.answers).toEqual([200]);
});

row('MANAGEMENT_HOST and MANAGEMENT_PORT', 'are the address and the port of the management listener', async () => {
  expect(management).toBe(`http://127.0.0.2:${ports[1].port}`);
  expect((await fetch(`${management}/health/ready`)).status).toBe(200);
  await expect(fetch(management.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow('fetch failed');
});

row('TRUST_PROXY', 'has the proxies that name the addresses of clients', async () => {
  await fetch(url, { headers: { 'X-Forwarded-For': '192.0.2.1' } });
  await service.printed(/("address":"192\.0\.2\.1")/);
});

row('CORS_ORIGINS', 'has the origins whose pages may create plants', async () => {
  for (const [origin, allowed] of [
    ['https://plants.example', 'https://plants.example'],
    ['https://elsewhere.example', null],
  ] as const) {
    expect((await preflight(origin)).headers.get('access-control-allow-origin')).toBe(allowed);
  }
});

row('LOG_REQUESTS', 'lets the log have requests with an error alone', async () => {
  expect(await create(url)).toEqual(CREATED);
  expect((await preflight('https://plants.example')).status).toBe(204);
  expect(await post(url, 'no JSON')).toEqual(refusal(400));
  await service.printed(/("error":400)/);
  const requests = service.lines.filter((text) => text.includes('"requestId"'));
  expect(requests.filter((text) => !text.includes('"error":'))).toEqual([]);
});

it('WORKERS, a setting of an older version, is told in a warning', () => {
  expect(service.stdout).toContain('"message":"WORKERS has no effect any more: start several instances, ');
});

row('SHUTDOWN_TIMEOUT', 'ends the wait for requests in flight after a signal to stop', async () => {
  const client = await openRequest();
  // After this exchange, the service has accepted the other connection, too.
  await ask(url);
  expect(await timeOf(service.stop())).toBeLessThan(SHORTER.thanDefaultOf10s);
  expect(service.stdout).toContain('Stopped after SHUTDOWN_TIMEOUT');
  expect(client.answers).toEqual([]);
});

row('DATABASE_START_TIMEOUT', 'ends the start if the database server cannot be reached for so long', async () => {
  // There is no socket of a server in this directory. Another limit would end the start later.
  const database = `postgres://plants@localhost/plants?host=${directory.path}`;
  const failing = directory.launch({
    DATABASE_URL: database,
    DATABASE_START_TIMEOUT: '200ms',
    STORE_TIMEOUT: '40s',
  });
  expect(await timeOf(failing.ended)).toBeLessThan(SHORTER.thanDefaultOf30s);
  expect(failing.stderr).toContain('cannot be used: connect ENOENT');
});

row('DATABASE_URL and TLS_CERT_FILE and TLS_KEY_FILE and LOG_LEVEL', 'take effect in a service with TLS', async () => {
  const second = await directory.firstStart({
    ...installCertificate(directory, 'second'),
    DATABASE_URL: 'sqlite:elsewhere/p.db',
    LOG_LEVEL: 'warn',
  });
  const { hostname, port } = new URL(second.url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  expect(socket.getPeerX509Certificate()?.toString()).toBe(readPem('second.crt'));
  socket.destroy();
  expect(await ask(second.url, second.token)).toBe(200);
  expect(directory.names('elsewhere/p.db')).toEqual(['Monstera']);
  await second.service.stop();
  expect(second.service.stdout).toBe('');
});

it('No setting is missing here', () => {
  expect(shown.sort()).toEqual([...VARIABLES].sort());
});

it('Wrong settings end the start with status 2, each in a line of its own', async () => {
  expect(await directory.failedStart({ PORT: '65536', LOG_LEVEL: 'loud' })).toEqual({
    status: 2,
    complaint: expect.stringMatching(
      /^plant-store: PORT must be a number from 0 to 65535, for example 8080\nplant-store: LOG_LEVEL [^\n]+\n$/,
    ) as unknown,
  });
});
