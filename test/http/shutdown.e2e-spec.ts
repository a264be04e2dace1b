import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOf, violationsIn } from '../support/history.js';
import { type Row, TOKEN } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { openSqliteFile } from '../support/sqlite-file.js';
import { Workload } from '../support/workload.js';

let directory: string;
let service: ServiceProcess;
let url: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  service = new ServiceProcess(directory, { ACCESS_TOKENS: TOKEN, SHUTDOWN_TIMEOUT: '2s' });
  url = await service.listening();
});

afterEach(async () => {
  await service.stop('SIGKILL');
  rmSync(directory, { recursive: true });
});

/** A connection, with what has come on it. */
async function open(sent: string): Promise<{ socket: Socket; received: () => string }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  // A reset is no error of the test; what had come before it is looked at.
  socket.on('error', () => undefined);
  socket.write(sent);
  return { socket, received: () => text };
}

const HEAD =
  `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 24\r\nExpect: 100-continue\r\n\r\n';

describe('SIGTERM', () => {
  it.each([
    ['has said nothing', ''],
    ['has sent half a head', 'POST /plants HTTP/1.1\r\nHost: loc'],
  ])('ends the connection of a client that %s, and then the service, with status 0', async (_what, sent) => {
    const { socket, received } = await open(sent);
    // An exchange on another connection: the service has seen the first one by then.
    await fetch(url);

    service.signal('SIGTERM');
    await once(socket, 'close');

    expect(received()).toBe('');
    expect(await service.ended).toBe(0);
  });

  it('answers a request that is on its way, and says that its connection ends', async () => {
    const { socket, received } = await open(HEAD);
    while (!received().includes('100 Continue')) await once(socket, 'data');

    service.signal('SIGTERM');
    await refused();
    socket.write('{"id":1,"name":"Ficus"}  ');
    await once(socket, 'close');

    expect(received()).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*\{"name":"Ficus"\}$/i);
    expect(await service.ended).toBe(0);
  });

  it('waits for a body that does not come until the time is up, and no longer', async () => {
    const { socket, received } = await open(HEAD);
    while (!received().includes('100 Continue')) await once(socket, 'data');

    service.signal('SIGTERM');

    expect(await service.ended).toBe(0);
  });

  it('a second time ends the service at once', async () => {
    const { socket, received } = await open(HEAD);
    while (!received().includes('100 Continue')) await once(socket, 'data');
    service.signal('SIGTERM');
    await refused();

    expect(await service.stop('SIGINT')).toBeNull();
  });

  it('under load cuts no answer in the middle, and loses no plant', async () => {
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 3 });
    while (workload.history.length < 1_000) await new Promise(setImmediate);

    const before = performance.now();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    const duration = performance.now() - before;
    await workload.stop();

    console.info(`${Math.round(duration)} ms from SIGTERM to the end, under 64 clients`);
    expect(workload.cut).toBe(0);
    expect([...workload.errors.keys()]).toEqual([409]);
    const database = openSqliteFile(join(directory, 'data/plants.db'));
    const rows = database.all<Row>('SELECT id, name, tag FROM plants');
    database.close();
    expect(violationsIn(workload.history, new Map(rows.map((row) => [row.id, contentOf(row)])))).toEqual([]);
  });

  /** Resolves when the service takes no connections any more. */
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
