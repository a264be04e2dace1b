import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { creation } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { inTime, until } from '../support/until.js';

let directory: ServiceDirectory;
let management: string;
let url: string;
let clients: RawClient[];

beforeAll(async () => {
  directory = new ServiceDirectory();
  const variables = { MANAGEMENT_ALLOWED_HOSTS: 'PLANTS.example, Plant-Store.monitoring.svc' };
  ({ url, management } = await directory.startManaged(variables));
});

beforeEach(() => {
  clients = [];
});

afterEach(() => {
  for (const { socket } of clients) socket.destroy();
});

afterAll(() => directory.remove());

async function open(url: string): Promise<RawClient> {
  const client = await RawClient.open(url);
  clients.push(client);
  return client;
}

/** Opens connections, each after the one before is accepted. */
async function openInOrder(count: number, url = management): Promise<RawClient[]> {
  const opened: RawClient[] = [];
  while (opened.length < count) opened.push(await open(url));
  return opened;
}

/** Sends a request with these header lines, and returns the status of its answer. */
async function statusOf(path: string, lines: readonly string[], version = '1.1'): Promise<number> {
  const client = await open(management);
  client.socket.write([`GET ${path} HTTP/${version}`, ...lines, 'Connection: close', '', ''].join('\r\n'));
  await client.closed;
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(client.received)?.[1]);
}

describe('The management listener', () => {
  it.each<[number, string, readonly string[]]>([
    [200, 'its own address', ['Host: 127.0.0.1:3001']],
    [200, 'localhost', ['Host: LOCALHOST:3001']],
    [200, 'an IPv6 address', ['Host: [fd00::1]:3001']],
    [200, 'a name that MANAGEMENT_ALLOWED_HOSTS has in capitals', ['Host: plants.example:3001']],
    [200, 'a name of MANAGEMENT_ALLOWED_HOSTS in other letters', ['Host: PLANT-STORE.monitoring.svc.:3001']],
    [421, 'another name', ['Host: plants.attacker.example:3001']],
    [421, 'a name that looks like an address', ['Host: 127.0.0.1.attacker.example']],
    [421, 'no name', ['Host:']],
  ])('answers %i to a Host that is %s', async (status, _host, lines) => {
    for (const path of ['/metrics', '/health/live', '/docs', '/docs/swagger-ui.css', '/openapi.json']) {
      expect({ path, status: await statusOf(path, lines) }).toEqual({ path, status });
    }
  });

  it('answers a request of HTTP/1.0 without a Host, which no browser sends', async () => {
    expect(await statusOf('/health/live', [], '1.0')).toBe(200);
  });

  it('answers while 64 connections are idle, and closes the one that is idle the longest', async () => {
    const [first, second, ...others] = await openInOrder(64);
    // Now the second one is idle the longest.
    first?.socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('the first client has its answer', () => first?.received.startsWith('HTTP/1.1 200 ') === true);

    expect(await statusOf('/health/live', ['Host: localhost'])).toBe(200);

    await second?.closed;
    // A connection that is closed for its time gets a 408.
    expect(second?.received).toBe('');
    expect([first, ...others].filter((client) => client?.socket.destroyed)).toEqual([]);
  });

  it('counts no connections that are closed', async () => {
    const idle = await open(management);
    idle.socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('the client has its answer', () => idle.received.startsWith('HTTP/1.1 200 '));

    for (let turn = 0; turn < 64; turn += 1) expect(await statusOf('/health/live', ['Host: localhost'])).toBe(200);

    expect(idle.socket.destroyed).toBe(false);
  });

  it('answers each request while other clients connect again and again, and send nothing', async () => {
    let isOver = false;
    const clients = Array.from({ length: 80 }, async () => {
      while (!isOver) await (await open(management)).closed;
    });

    try {
      for (let turn = 0; turn < 100; turn += 1) expect(await statusOf('/health/live', ['Host: localhost'])).toBe(200);
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
  });

  it('closes a connection that is idle for a few seconds, with and without a request before', async () => {
    const began = performance.now();
    const silent = await open(management);
    const idle = await open(management);
    idle.socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await Promise.race([silent.closed, idle.closed]);
    expect(performance.now() - began).toBeGreaterThan(4_500);
    await Promise.all([silent.closed, idle.closed]);

    expect(idle.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it.each([
    [200, '/metrics'],
    [200, '/health/live'],
    [200, '/health/ready'],
    [200, '/docs'],
    [200, '/docs/swagger-ui.css'],
    [200, '/openapi.json'],
    [404, '/nothing'],
  ])('answers %i to %s, and lets no browser guess another type', async (status, path) => {
    const response = await fetch(`${management}${path}`);

    expect([response.status, response.headers.get('x-content-type-options')]).toEqual([status, 'nosniff']);
  });

  it('closes a connection that sends a request before it has the answer to the one before', async () => {
    const head = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const client = await open(management);
    client.socket.write(head.repeat(100));

    await client.closed;

    expect(client.received.split('HTTP/1.1 ').length - 1).toBeLessThanOrEqual(1);
    expect((await fetch(`${management}/health/live`)).status).toBe(200);
  });

  it('answers every path again after file descriptors were exhausted, and the contract meanwhile', async () => {
    const wrapper = ['sh', '-c', 'ulimit -n 80; exec "$@"', 'sh'];
    ({ url, management } = await directory.startManaged({ DATABASE_URL: 'sqlite::memory:' }, { wrapper }));
    // One connection to each port, because a new one needs a descriptor.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = async (path: string): Promise<number | undefined> => {
      const outgoing = request(`${management}${path}`, { agent }).end();
      const responds = once(outgoing, 'response') as Promise<[IncomingMessage]>;
      const [answer] = await inTime(responds, () => `GET ${path} is answered`);
      await text(answer);
      return answer.statusCode;
    };
    const known = await RawClient.open(url);
    expect(await known.ask(creation(1))).toBe(200);
    await until('the descriptors are exhausted', async () => {
      await open(url);
      return (await get('/docs/swagger-ui.css')) !== 200;
    });

    expect([await get('/openapi.json'), await get('/docs')]).toEqual([200, 200]);
    expect(await known.ask(creation(2))).toBe(200);
    for (const { socket } of clients) socket.destroy();
    await until('a file can be opened again', async () => (await get('/docs/swagger-ui.css')) === 200);
    for (const path of ['/docs', '/openapi.json', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui-init.js']) {
      expect({ path, status: await get(path) }).toEqual({ path, status: 200 });
    }
    agent.destroy();
  });
});
