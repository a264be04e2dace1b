import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOKEN } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { openSqliteFile } from '../support/sqlite-file.js';

let directory: string;
let service: ServiceProcess;
let url: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
});

afterEach(async () => {
  await service.stop('SIGKILL');
  rmSync(directory, { recursive: true });
});

async function start(variables: Record<string, string> = {}): Promise<void> {
  service = new ServiceProcess(directory, { ACCESS_TOKENS: TOKEN, ...variables });
  url = await service.listening();
}

/** The resident memory of the service, in MB. */
function memory(): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(service.pid)])) / 1_024;
}

/** A connection, and all that has come on it. */
class Client {
  received = '';
  readonly closed: Promise<unknown>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    this.closed = once(socket, 'close');
  }

  static async open(): Promise<Client> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new Client(socket);
  }

  /** The statuses and error numbers of the answers, in order: `200`, `503`. */
  get answers(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (?:(200)|400) [^]*?\r\n\r\n\{(?:"error":(\d+))?/g)].map(
      ([, ok, error]) => Number(ok ?? error),
    );
  }

  async answered(count: number): Promise<void> {
    while (this.answers.length < count) await once(this.socket, 'data');
  }
}

function creation(id: number, size = 0): string {
  const body = JSON.stringify({ id, name: 'n'.repeat(size) });
  return (
    `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** The clients that have an answer, as soon as there are so many. */
async function answeredOf(clients: readonly Client[], count: number): Promise<Client[]> {
  for (;;) {
    const answered = clients.filter(({ received }) => received !== '');
    if (answered.length >= count) return answered;
    await new Promise(setImmediate);
  }
}

describe('Connections', () => {
  it('beyond the limit are answered 503 before they ask, and there is room again when others close', async () => {
    await start({ MAX_CONNECTIONS: '20' });
    const clients = await Promise.all(Array.from({ length: 20 }, () => Client.open()));
    // Each of them is known to the service when it has an answer.
    for (const [id, client] of clients.entries()) {
      client.socket.write(creation(id));
      await client.answered(1);
    }

    const refused = await Client.open();
    await refused.closed;
    expect(refused.answers).toEqual([503]);
    expect(refused.received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n(?:.+\r\n)*Retry-After: 1\r\n/);
    expect(refused.received).toMatch(/\r\nConnection: close\r\n/);

    clients[0]?.socket.end();
    await clients[0]?.closed;
    const welcome = await Client.open();
    welcome.socket.write(creation(100));
    await welcome.answered(1);
    expect(welcome.answers).toEqual([200]);
    for (const { socket } of [...clients, welcome]) socket.destroy();
  });

  it('may be idle in thousands, and nobody else notices', async () => {
    await start();
    const idle: Client[] = [];
    for (let count = 0; count < 3_000; count += 100) {
      idle.push(...(await Promise.all(Array.from({ length: 100 }, () => Client.open()))));
    }
    const client = await Client.open();
    client.socket.write(creation(1));
    await client.answered(1);

    expect(client.answers).toEqual([200]);
    console.info(`${memory().toFixed(0)} MB with ${idle.length} idle connections`);
    expect(memory()).toBeLessThan(400);
    for (const { socket } of [client, ...idle]) socket.destroy();
  });
});

describe('More than the service can take', () => {
  it('is refused with 503 at once, while the rest is answered when the store can', async () => {
    await start();
    const other = openSqliteFile(join(directory, 'data/plants.db'));
    other.exec('BEGIN EXCLUSIVE');
    const clients = await Promise.all(Array.from({ length: 1_100 }, () => Client.open()));

    for (const [id, { socket }] of clients.entries()) socket.write(creation(id));
    const refused = await answeredOf(clients, 1_100 - 1_024);
    expect(refused.map(({ received }) => received)).toEqual(
      refused.map(() => expect.stringMatching(/\r\nRetry-After: 1\r\n[^]*\{"error":503,/i) as unknown),
    );
    other.close();

    await Promise.all(clients.map((client) => client.answered(1)));
    const answers = clients.flatMap((client) => client.answers);
    expect(answers.filter((answer) => answer === 200)).toHaveLength(1_024);
    expect(answers.filter((answer) => answer === 503)).toHaveLength(1_100 - 1_024);
    for (const { socket } of clients) socket.destroy();
  });

  it('is answered in order and in bounded memory, however much comes at once, and the service recovers', async () => {
    await start();
    const before = memory();
    const [connections, depth] = [200, 100];
    const clients = await Promise.all(Array.from({ length: connections }, () => Client.open()));

    const sent = performance.now();
    for (const [index, { socket }] of clients.entries()) {
      socket.write(Array.from({ length: depth }, (_, place) => creation(index * depth + place)).join(''));
    }
    await Promise.all(clients.map((client) => client.answered(depth)));
    const duration = performance.now() - sent;

    const answers = clients.flatMap((client) => client.answers);
    const refused = answers.filter((answer) => answer === 503).length;
    console.info(
      `${answers.length} requests at once, answered in ${duration.toFixed(0)} ms, ${refused} of them with 503;`,
      `${before.toFixed(0)} MB before, ${memory().toFixed(0)} MB after`,
    );
    expect(answers).toHaveLength(connections * depth);
    expect(answers.filter((answer) => answer === 200)).toHaveLength(connections * depth - refused);
    expect(memory()).toBeLessThan(before + 400);
    const client = await Client.open();
    client.socket.write(creation(1_000_000));
    await client.answered(1);
    expect(client.answers).toEqual([200]);
    for (const { socket } of [client, ...clients]) socket.destroy();
  });

  it('is held in bounded memory while the first of many requests waits', async () => {
    await start({ REFUSED_TOKENS_PER_MINUTE: '1' });
    const before = memory();
    const clients = await Promise.all(Array.from({ length: 100 }, () => Client.open()));

    // The refusal of the first one is delayed; the others have 18 bytes each.
    const first = 'GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n';
    for (const { socket } of clients) socket.write(first + 'GET / HTTP/1.1\r\n\r\n'.repeat(3_500));
    await Promise.all(clients.map((client) => client.answered(2)));

    expect(new Set(clients.map(({ answers }) => answers.slice(0, 2).join()))).toEqual(new Set(['401,400']));
    expect(memory()).toBeLessThan(before + 100);
    for (const { socket } of clients) socket.destroy();
  });

  it('is refused with 503 where bodies take all the memory that there is for them', async () => {
    await start();
    const clients = await Promise.all(Array.from({ length: 100 }, () => Client.open()));

    // Bodies of a MiB that lack their last byte, so that none can be stored and forgotten.
    const large = creation(1, 1_000_000);
    for (const { socket } of clients) socket.write(large.slice(0, -1));
    const refused = await answeredOf(clients, 30);

    expect(new Set(refused.flatMap(({ answers }) => answers))).toEqual(new Set([503]));
    expect(memory()).toBeLessThan(400);
    for (const { socket } of clients) socket.write(large.slice(-1));
    const accepted = clients.filter((client) => !refused.includes(client));
    await Promise.all(accepted.map((client) => client.answered(1)));
    expect(accepted.map(({ answers }) => answers)).toContainEqual([200]);
    for (const { socket } of clients) socket.destroy();
  });
});
