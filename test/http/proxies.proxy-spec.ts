/**
 * Behind nginx and Caddy with their files in deploy/, clients get the answers of the contract, also from the proxy
 * itself. Run it with npm run test:proxies: it needs both programs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPem } from '../support/certificates.js';
import { message, type Parts } from '../support/http-messages.js';
import { occupyPort } from '../support/ports.js';
import { RawClient } from '../support/raw-client.js';
import { ServiceDirectory, type Started, WITH_TOKEN } from '../support/service-directory.js';
import { ROOT } from '../support/root.js';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const LAST = ['Connection: close'];
const LONG = 'a'.repeat(40_000);

let directory: ServiceDirectory;
let started: Started;
let proxy: ChildProcess;
let port: number;

beforeAll(async () => {
  // The configuration of a proxy cannot ask for any free port: this one was free a moment ago.
  const occupied = await occupyPort();
  port = occupied.port;
  occupied.free();
});

async function startNginx(): Promise<void> {
  install('nginx.conf', 'plant-store.conf', {
    'listen 443 ': `listen 127.0.0.1:${port} `,
    '/etc/nginx/plant-store': directory.file('plant-store'),
    'proxy_read_timeout 45s': 'proxy_read_timeout 1s',
  });
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
  // The worker writes large bodies to the directory of the test.
  directory.write(
    'nginx.conf',
    `daemon off; pid nginx.pid; error_log stderr notice; user root;
    events {}
    http { access_log off; ${paths.join(' ')} include plant-store.conf; }`,
  );
  await launch('start worker process ', 'nginx', '-p', directory.path, '-e', 'stderr', '-c', 'nginx.conf');
}

async function startCaddy(): Promise<void> {
  install('Caddyfile', 'Caddyfile', {
    auto_https: 'admin off\nauto_https',
    'plants.example {': `https://localhost:${port} {\ntls plant-store.crt plant-store.key\n`,
    '\n:443 {': `\n:${port} {`,
    'response_header_timeout 45s': 'response_header_timeout 1s',
  });
  await launch('serving initial configuration', 'caddy', 'run', '--config', 'Caddyfile', '--adapter', 'caddyfile');
}

/** Copies a file of deploy/ with these texts replaced, each of which must be there. */
function install(source: string, target: string, edits: Readonly<Record<string, string>>): void {
  let text = readFileSync(join(ROOT, 'deploy', source), 'utf8');
  for (const [from, to] of Object.entries({ '127.0.0.1:3000': new URL(started.url).host, ...edits })) {
    if (!text.includes(from)) throw new Error(`${source} does not have "${from}"`);
    text = text.replaceAll(from, to);
  }
  directory.write(target, text);
}

/** Starts a proxy, and waits until it prints this text on stderr. */
async function launch(expected: string, program: string, ...parameters: readonly string[]): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: directory.path };
  const child = spawn(program, parameters, { cwd: directory.path, env, stdio: ['ignore', 'ignore', 'pipe'] });
  proxy = child;
  let text = '';
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => reject(new Error(`It ended with ${String(status)}: ${text}`)));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes(expected)) resolve();
    });
  });
}

/** Sends these bytes over TLS, or in clear text, from an address of its own, and returns the answer. */
async function send(bytes: string, scheme: 'https' | 'http' = 'https'): Promise<Answer> {
  const client = await RawClient.open(`${scheme}://localhost:${port}`, { family: 4, localAddress: '127.0.0.2' });
  client.socket.write(bytes, 'latin1');
  // The proxy may reset the connection after its answer.
  await client.closed;
  const [, status, lines = '', body = ''] =
    /^HTTP\/1\.[01] (\d{3}) .*\r\n([^]*?)\r\n\r\n([^]*)$/.exec(client.received) ?? [];
  const headers: Record<string, string> = {};
  for (const [, name = '', value = ''] of lines.matchAll(/^([\w-]+): (.*)$/gm)) headers[name.toLowerCase()] = value;
  return { status: Number(status), headers, body: JSON.parse(body) as unknown };
}

function request(parts: Parts = {}): string {
  return message({ host: ['Host: localhost'], more: LAST, ...parts });
}

/** Expects a refusal in the shape of the contract, with the headers that belong to its number. */
function expectRefusal(answer: Answer, error: number): void {
  expect(answer).toMatchObject({
    status: 400,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(error === 401 && { 'www-authenticate': expect.stringMatching(/^Bearer realm="/) as unknown }),
      ...(error === 405 && { allow: 'POST' }),
      ...(error === 503 && { 'retry-after': '1' }),
    },
  });
  expect(answer.body).toEqual({ error, message: expect.stringMatching(/^\S.*\.$/) as unknown });
}

type Row = [error: number, what: string, bytes: string];

const OF_NGINX: Row[] = [
  [400, 'garbage', 'garbage\r\n\r\n'],
  [400, 'no Host', 'POST /plants HTTP/1.1\r\n\r\n'],
  [400, 'an unknown transfer coding', request({ framing: ['Transfer-Encoding: gzip'] })],
  [431, 'too long a URL', request({ line: `POST /plants?${LONG} HTTP/1.1` })],
  [405, 'TRACE', request({ line: 'TRACE /plants HTTP/1.1' })],
  [400, 'CONNECT', request({ line: 'CONNECT localhost:80 HTTP/1.1' })],
];
const OF_CADDY: Row[] = [
  [401, 'no token, before its body is sent', request({ authorization: [], framing: ['Content-Length: 9'], body: '' })],
  [400, 'another host', request({ host: ['Host: elsewhere'] })],
];

describe.each([
  ['nginx', startNginx, OF_NGINX],
  ['Caddy', startCaddy, OF_CADDY],
])('%s', (name, start, rows) => {
  beforeAll(async () => {
    directory = new ServiceDirectory();
    started = await directory.start({ ...WITH_TOKEN, TRUST_PROXY: 'loopback', BODY_LIMIT: '10kb' });
    directory.write('plant-store.crt', readPem('first.crt'));
    directory.write('plant-store.key', readPem('first.key'));
    await start();
  });

  afterAll(async () => {
    if (proxy.kill()) await once(proxy, 'close');
    await directory.remove();
  });

  it("passes plants over TLS, with the client's address, and not one that the client forged", async () => {
    const answer = await send(request({ more: [...LAST, 'X-Forwarded-For: 192.0.2.1'] }));

    expect(answer).toMatchObject({ status: 200, body: { name: 'Plant 1' } });
    expect(directory.names()).toEqual(['Plant 1']);
    expect(await started.service.printed(/"address":"([^"]+)","message":"request"/)).toBe('127.0.0.2');
  });

  it.each<Row>([
    [401, 'no token', request({ authorization: [], body: 'a'.repeat(500_000) })],
    [404, 'another path', request({ line: 'POST /elsewhere HTTP/1.1' })],
    [404, 'a path of the error pages', request({ line: 'POST /nginx-error/503 HTTP/1.1' })],
    [405, 'another method', request({ line: 'GET /plants HTTP/1.1' })],
    [413, 'too large a body', request({ body: 'a'.repeat(3_000_000) })],
    [422, 'a body that is not a NewPlant', request({ body: '{}' })],
    [431, 'too large a header', request({ more: [...LAST, `X: ${LONG}`] })],
    ...rows,
  ])('answers with error %i to %s', async (error, _what, bytes) => {
    expectRefusal(await send(bytes), error);
  });

  if (name === 'nginx') {
    it('answers with error 400 to plain HTTP', async () => {
      expectRefusal(await send(request(), 'http'), 400);
    });

    it('answers the requests that follow refused uploads on the same connection', async () => {
      const client = await RawClient.open(`https://localhost:${port}`, { family: 4 });
      const upload = request({ more: [], authorization: [], body: 'a'.repeat(500_000) });

      for (let count = 0; count < 40; count += 1) {
        expect(await client.ask(upload)).toBe(401);
        expect(await client.ask(request({ more: [] }))).toBe(200);
      }
      client.socket.destroy();
    });
  }

  it('answers with error 503 while the service does not answer in time, and does not run', async () => {
    started.service.signal('SIGSTOP');
    expectRefusal(await send(request()), 503);

    await started.service.stop('SIGKILL');
    expectRefusal(await send(request()), 503);
  });
});
