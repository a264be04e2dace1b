import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { TOKEN } from '../support/client.js';
import { send } from '../support/connections.js';
import { Client } from '../support/load-client.js';
import { ServiceDirectory } from '../support/service-directory.js';

let directory: ServiceDirectory;
let management: string;
let url: string;
let clients: Client[];

beforeAll(async () => {
  directory = new ServiceDirectory();
  const variables = { MANAGEMENT_ALLOWED_HOSTS: 'plant-store, plant-store.monitoring.svc' };
  ({ url, management } = await directory.startManaged(variables));
});

beforeEach(() => {
  clients = [];
});

afterEach(() => {
  for (const { socket } of clients) socket.destroy();
});

afterAll(() => directory.remove());

async function open(url: string): Promise<Client> {
  const client = await Client.open(url);
  clients.push(client);
  return client;
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
    [200, 'a name of MANAGEMENT_ALLOWED_HOSTS', ['Host: Plant-Store.monitoring.svc.:3001']],
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

  it('closes connections beyond 64, and accepts new ones when others have closed', async () => {
    const idle = await Promise.all(Array.from({ length: 64 }, () => open(management)));
    const refused = await open(management);
    await refused.closed;

    for (const { socket } of idle) socket.destroy();
    let status = NaN;
    while (status !== 200) status = await statusOf('/health/live', ['Host: localhost']).catch(() => NaN);
  });

  it('answers every path again after file descriptors were exhausted, and the contract meanwhile', async () => {
    const wrapper = ['sh', '-c', 'ulimit -n 80; exec "$@"', 'sh'];
    ({ url, management } = await directory.startManaged({ DATABASE_URL: 'sqlite::memory:' }, { wrapper }));
    // One connection to each port, because a new one needs a descriptor.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = async (path: string): Promise<number | undefined> => {
      const outgoing = request(`${management}${path}`, { agent }).end();
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
      await text(answer);
      return answer.statusCode;
    };
    expect((await send(url, TOKEN, 1, agent)).result).toBe(200);
    while ((await get('/docs/swagger-ui.css')) === 200) await open(url);

    expect([await get('/openapi.json'), await get('/docs')]).toEqual([200, 200]);
    expect((await send(url, TOKEN, 2, agent)).result).toBe(200);
    for (const { socket } of clients) socket.destroy();
    while ((await get('/docs/swagger-ui.css')) !== 200);
    for (const path of ['/docs', '/openapi.json', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui-init.js']) {
      expect({ path, status: await get(path) }).toEqual({ path, status: 200 });
    }
    agent.destroy();
  });
});
