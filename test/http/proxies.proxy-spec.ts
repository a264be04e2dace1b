/**
 * Runs nginx and Caddy in front of the service, with their files in deploy/. Run it with npm run test:proxies: it needs
 * both programs.
 */
import { message, plant } from '../support/http-messages.js';
import { type Answer, type Edits, Proxy, type StartProxy } from '../support/proxy.js';
import { ServiceDirectory, type Started, WITH_TOKEN } from '../support/service-directory.js';

const LAST = ['Connection: close'];
const LONG = 'a'.repeat(40_000);

let directory: ServiceDirectory;
let started: Started;
let proxy: Proxy;

beforeEach(async () => {
  directory = new ServiceDirectory();
  started = await directory.start({ ...WITH_TOKEN, TRUST_PROXY: 'loopback', BODY_LIMIT: '10kb' });
});

afterEach(async () => {
  await proxy.stop();
  await directory.remove();
});

/** Starts the proxy in front of the service. */
async function begin(start: StartProxy, edits?: Edits): Promise<void> {
  proxy = await start(directory, Number(new URL(started.url).port), edits);
}

function request(parts: Parameters<typeof message>[0] = {}): string {
  return message({ host: ['Host: localhost'], more: LAST, ...parts });
}

/** Expects a refusal in the shape of the contract, with the headers that belong to its number. */
function expectRefusal(answer: Answer, error: number): void {
  const message = expect.stringMatching(/^\S.*\.$/) as unknown;
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
    body: { error, message },
  });
  expect(Object.keys(answer.body as object)).toEqual(['error', 'message']);
}

describe.each([
  ['nginx', Proxy.nginx, { 'proxy_read_timeout 40s': 'proxy_read_timeout 1s' }],
  ['Caddy', Proxy.caddy, { 'response_header_timeout 40s': 'response_header_timeout 1s' }],
])('%s', (_name, start, impatient) => {
  it('passes plants to the service over TLS', async () => {
    await begin(start);

    expect(await proxy.send(request())).toMatchObject({ status: 200, body: { name: 'Plant 1' } });
    expect(directory.names()).toEqual(['Plant 1']);
  });

  it("tells the service the client's address, and not one that the client forged", async () => {
    await begin(start);
    await proxy.send(request({ more: [...LAST, 'X-Forwarded-For: 192.0.2.1'] }));

    expect(await started.service.printed(/"address":"([^"]+)","message":"request"/)).toBe('127.0.0.2');
  });

  it.each<[number, string, Parameters<typeof message>[0]]>([
    [401, 'no token, before its body is sent', { authorization: [], framing: ['Content-Length: 3000000'], body: '' }],
    [401, 'no token, with a large body', { authorization: [], body: 'a'.repeat(3_000_000) }],
    [404, 'another path', { line: 'POST /elsewhere HTTP/1.1' }],
    [404, 'a path of the error pages', { line: 'POST /nginx-error/503 HTTP/1.1' }],
    [405, 'another method', { line: 'GET /plants HTTP/1.1' }],
    [408, 'a body that does not arrive', { framing: ['Content-Length: 1000'] }],
    [413, 'too large a body, before it is sent', { framing: ['Content-Length: 3000000'], body: '' }],
    [413, 'too large a body', { body: 'a'.repeat(3_000_000) }],
    [422, 'a body that is not a NewPlant', { body: '{}' }],
    [431, 'too large a header', { more: [...LAST, `X: ${LONG}`] }],
  ])('answers with error %i to %s', async (error, _what, parts) => {
    await begin(start);

    expectRefusal(await proxy.send(request(parts)), error);
  });

  it('answers with error 503 while the service does not run', async () => {
    await begin(start);
    await started.service.stop();

    expectRefusal(await proxy.send(request()), 503);
  });

  it('answers with error 503 if the service does not answer in time', async () => {
    await begin(start, impatient);
    started.service.signal('SIGSTOP');

    expectRefusal(await proxy.send(request()), 503);
  });
});

describe('nginx', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['no Host', 'POST /plants HTTP/1.1\r\n\r\n', 400],
    ['two Hosts', request({ host: ['Host: localhost', 'Host: elsewhere'] }), 400],
    ['an invalid escape', request({ line: 'POST /%zz HTTP/1.1' }), 400],
    ['a path above the root', request({ line: 'POST /.. HTTP/1.1' }), 400],
    ['an unknown version', request({ line: 'POST /plants HTTP/3.1' }), 400],
    ['an unknown transfer coding', request({ framing: ['Transfer-Encoding: gzip'] }), 400],
    ['an invalid length', request({ framing: ['Content-Length: x'] }), 400],
    ['too long a URL', request({ line: `POST /plants?${LONG} HTTP/1.1` }), 414],
    ['TRACE', request({ line: 'TRACE /plants HTTP/1.1' }), 405],
    ['CONNECT', request({ line: 'CONNECT localhost:80 HTTP/1.1' }), 400],
  ])('answers by itself to %s', async (_what, bytes, error) => {
    await begin(Proxy.nginx);

    expectRefusal(await proxy.send(bytes), error);
  });

  it('answers with error 400 to plain HTTP', async () => {
    await begin(Proxy.nginx);

    expectRefusal(await proxy.send(request(), { plainly: true }), 400);
  });

  it('answers with error 413 above a limit of its own', async () => {
    await begin(Proxy.nginx, { 'client_max_body_size 0': 'client_max_body_size 20' });

    expectRefusal(await proxy.send(request({ body: plant(1) })), 413);
  });
});

describe('Caddy', () => {
  it('answers with error 400 to another host', async () => {
    await begin(Proxy.caddy);

    expectRefusal(await proxy.send(request({ host: ['Host: elsewhere'] })), 400);
  });

  it('answers with error 413 where it refuses a size itself', async () => {
    await begin(Proxy.caddy, { '\treverse_proxy': '\terror * 413\n\treverse_proxy' });

    expectRefusal(await proxy.send(request({ body: plant(1) })), 413);
  });
});
