import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { storeFrom, violationsIn } from '../support/history.js';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { Workload } from '../support/workload.js';

let directory: ServiceDirectory;
let service: ServiceProcess;
let url: string;

beforeEach(async () => {
  directory = new ServiceDirectory();
  ({ service, url } = await directory.start({ ...WITH_TOKEN, SHUTDOWN_TIMEOUT: '2s' }));
});

afterEach(() => directory.remove());

/** Opens a connection, and sends on it. */
async function open(sent: string, options = {}): Promise<{ socket: Socket; received: () => string }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  // A reset does not matter; the test looks at what came before it.
  socket.on('error', () => undefined);
  socket.write(sent);
  return { socket, received: () => text };
}

const HEAD =
  `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 24\r\nExpect: 100-continue\r\n\r\n';

describe('SIGTERM', () => {
  it.each([
    ['is silent', ''],
    ['has sent half a request head', 'POST /plants HTTP/1.1\r\nHost: loc'],
  ])('closes the connection of a client that %s, and ends the service with status 0', async (_what, sent) => {
    const { socket, received } = await open(sent);
    // After this exchange, the service has accepted the first connection, too.
    await fetch(url);

    service.signal('SIGTERM');
    await once(socket, 'close');

    expect(received()).toBe('');
    expect(await service.ended).toBe(0);
  });

  it('answers a request in flight with Connection: close', async () => {
    const { socket, received } = await open(HEAD);
    while (!received().includes('100 Continue')) await once(socket, 'data');

    service.signal('SIGTERM');
    await refused();
    socket.write('{"id":1,"name":"Ficus"}  ');
    await once(socket, 'close');

    expect(received()).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*\{"name":"Ficus"\}$/i);
    expect(await service.ended).toBe(0);
  });

  it('ends the service at once after strange clients of every kind, none of which owes it a body', async () => {
    ({ service, url } = await directory.start({ ...WITH_TOKEN, SHUTDOWN_TIMEOUT: '60m' }));
    const plant = HEAD.replace('Expect: 100-continue\r\n', '') + '{"id":1,"name":"Ficus"}  ';
    const stranger = plant.replace(TOKEN, 'none');
    const behaviours = [
      ...['', '\r\n', 'POST /pla', 'POST /plants HTTP/1.1\r\nHost: loc', 'garbage\r\n\r\n', '\x16\x03\x01'],
      ...[plant, plant.repeat(3), `${plant}POST /pl`, `${plant}garbage\r\n\r\n`, stranger, stranger.slice(0, -9)],
      HEAD.replace(TOKEN, 'none'),
      stranger.replace('Content-Length: 24', 'Transfer-Encoding: chunked').replace('{', '1\r\n{\r\n1\r\n'),
      'CONNECT plants.example:80 HTTP/1.1\r\nHost: plants.example:80\r\n\r\n',
      plant.replace('\r\n\r\n', '\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
      HEAD.replace('100-continue', 'a-miracle'),
    ];
    const clients = await Promise.all(
      behaviours.flatMap((sent) => [open(sent), open(sent, { allowHalfOpen: true }), open(sent)]),
    );
    // After this exchange, the service has read what the clients have sent.
    await fetch(url);
    for (const [index, { socket }] of clients.entries()) {
      if (index % 3 === 1) socket.end();
      if (index % 3 === 2) socket.resetAndDestroy();
    }

    const before = performance.now();
    expect(await service.stop('SIGTERM')).toBe(0);
    expect(performance.now() - before).toBeLessThan(30_000);
    for (const { socket } of clients) socket.destroy();
  });

  it('waits SHUTDOWN_TIMEOUT for a body that does not come, and no longer', async () => {
    const { socket, received } = await open(HEAD);
    while (!received().includes('100 Continue')) await once(socket, 'data');

    expect(await service.stop('SIGTERM')).toBe(0);
    expect(service.lines.at(-1)).toContain('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
  });

  it('ends the service immediately when a second signal follows', async () => {
    ({ service, url } = await directory.start({ ...WITH_TOKEN, SHUTDOWN_TIMEOUT: '60m' }));
    const { socket, received } = await open(HEAD);
    while (!received().includes('100 Continue')) await once(socket, 'data');
    service.signal('SIGTERM');
    await refused();

    expect(await service.stop('SIGINT')).toBe(0);
  });

  it('cuts no answer and loses no plant under load', async () => {
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 3 });
    await workload.operations(1_000);

    expect(await service.stop('SIGTERM')).toBe(0);
    await workload.stop();

    expect(workload.cut).toBe(0);
    expect([...workload.errors.keys()]).toEqual([409]);
    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
  });

  /** Waits until the service refuses connections. */
  async function refused(): Promise<void> {
    const agent = new Agent();
    for (;;) {
      const outgoing = request(url, { agent });
      outgoing.end();
      const outcome = await Promise.race([
        once(outgoing, 'response').then(([response]: { resume(): void }[]) => response?.resume()),
        once(outgoing, 'error').then(() => 'refused'),
      ]).catch(() => 'refused');
      if (outcome === 'refused') return;
    }
  }
});
