import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { SECOND_TOKEN, TOKEN } from '../support/client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';

let directory: ServiceDirectory;
let service: ServiceProcess;
let url: string;

beforeEach(() => {
  directory = new ServiceDirectory();
});

afterEach(() => directory.remove());

async function start(variables: Variables = {}): Promise<void> {
  ({ service, url } = await directory.start({ ...WITH_TOKEN, ...variables }));
}

/** Returns the resident memory of the service in MiB. */
function memory(): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(service.pid)])) / 1_024;
}

/** A connection, and everything that has come on it. */
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

  /** The status 200 or the error number of each answer, in order. */
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

/** Waits until this many clients have an answer, and returns them. */
function answeredOf(clients: readonly Client[], count: number): Promise<Client[]> {
  return new Promise((resolve) => {
    const look = (): void => {
      const answered = clients.filter(({ received }) => received !== '');
      if (answered.length >= count) resolve(answered);
    };
    look();
    for (const { socket } of clients) socket.on('data', look);
  });
}

describe('Connections', () => {
  it('beyond MAX_CONNECTIONS get error 503 without a request while all others are in use', async () => {
    await start({ MAX_CONNECTIONS: '20' });
    const clients = await Promise.all(Array.from({ length: 20 }, () => Client.open()));
    // Each has an answer, so that the service knows of it, and then half a request.
    for (const [id, client] of clients.entries()) {
      client.socket.write(creation(id));
      await client.answered(1);
      client.socket.write(creation(id).replace('Content-Type', 'Expect: 100-continue\r\nContent-Type').slice(0, -1));
      while (!client.received.includes('100 Continue')) await once(client.socket, 'data');
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

  it('beyond MAX_CONNECTIONS replace those that only wait, first those without a valid token', async () => {
    await start({ MAX_CONNECTIONS: '20' });
    const known = await Client.open();
    known.socket.write(creation(1));
    await known.answered(1);
    // Their clients send nothing, half a head, garbage or a wrong token, and keep them open.
    const beginnings = ['', 'POST /plants HTTP/1.1\r\nHost: loc', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'];
    const strangers: Client[] = [];
    for (let count = 0; count < 100; count += 1) {
      const client = await Client.open();
      client.socket.on('error', () => undefined).write(beginnings[count % beginnings.length] ?? '');
      strangers.push(client);
    }
    // Each of them gets in while strangers hold all connections.
    for (let id = 2; id < 40; id += 1) {
      const client = await Client.open();
      client.socket.end(creation(id));
      await client.answered(1);
      expect(client.answers).toEqual([200]);
    }

    known.socket.write(creation(1));
    await known.answered(2);
    expect(known.answers).toEqual([200, 200]);
    for (const { socket } of [known, ...strangers]) socket.destroy();
  });

  it('of a client stay open while another one fills MAX_CONNECTIONS with bodies that it does not send', async () => {
    await start({ MAX_CONNECTIONS: '20', ACCESS_TOKENS: `${TOKEN},${SECOND_TOKEN}` });
    const idle: Client[] = [];
    for (let id = 0; id < 4; id += 1) {
      const client = await Client.open();
      client.socket.write(creation(id));
      await client.answered(1);
      idle.push(client);
    }
    const others: Client[] = [];
    for (let count = 0; count < 16; count += 1) {
      const client = await Client.open();
      const text = creation(100).replace(TOKEN, SECOND_TOKEN);
      client.socket.write(text.replace('Content-Type', 'Expect: 100-continue\r\nContent-Type').slice(0, -1));
      while (!client.received.includes('100 Continue')) await once(client.socket, 'data');
      others.push(client);
    }
    for (let count = 0; count < 20; count += 1) {
      const refused = await Client.open();
      await refused.closed;
      expect(refused.answers).toEqual([503]);
    }

    for (const [id, client] of idle.entries()) {
      client.socket.write(creation(id));
      await client.answered(2);
      expect(client.answers).toEqual([200, 200]);
    }
    for (const { socket } of [...idle, ...others]) socket.destroy();
  });

  it('that are idle, 3000 of them, do not affect another client', async () => {
    await start({ MAX_CONNECTIONS: '4000' });
    const idle: Client[] = [];
    for (let count = 0; count < 3_000; count += 100) {
      idle.push(...(await Promise.all(Array.from({ length: 100 }, () => Client.open()))));
    }
    const client = await Client.open();
    client.socket.write(creation(1));
    await client.answered(1);

    expect(client.answers).toEqual([200]);
    expect(memory()).toBeLessThan(400);
    for (const { socket } of [client, ...idle]) socket.destroy();
  });
});

describe('More load than the service can handle', () => {
  it('is refused with error 503 immediately, and the rest is answered when the store is available', async () => {
    await start({ STORE_TIMEOUT: '2m' });
    const other = directory.openDatabase();
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

  it('is answered in order and in bounded memory when 20,000 requests come at once', async () => {
    await start();
    const before = memory();
    const [connections, depth] = [200, 100];
    const clients = await Promise.all(Array.from({ length: connections }, () => Client.open()));

    for (const [index, { socket }] of clients.entries()) {
      socket.write(Array.from({ length: depth }, (_, place) => creation(index * depth + place)).join(''));
    }
    await Promise.all(clients.map((client) => client.answered(depth)));

    const answers = clients.flatMap((client) => client.answers);
    const refused = answers.filter((answer) => answer === 503).length;
    expect(answers).toHaveLength(connections * depth);
    expect(answers.filter((answer) => answer === 200)).toHaveLength(connections * depth - refused);
    expect(memory()).toBeLessThan(before + 400);
    const client = await Client.open();
    client.socket.write(creation(1_000_000));
    await client.answered(1);
    expect(client.answers).toEqual([200]);
    for (const { socket } of [client, ...clients]) socket.destroy();
  });

  it('is kept in bounded memory while the first of many pipelined requests waits', async () => {
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

  it('is refused with error 503 when bodies take all the memory reserved for them', async () => {
    await start();
    const clients = await Promise.all(Array.from({ length: 100 }, () => Client.open()));

    // Bodies of 1 MB without their last byte, so that the service has to keep them.
    const large = creation(1, 1_000_000);
    for (const { socket } of clients) socket.write(large.slice(0, -1));
    const refused = await answeredOf(clients, 30);

    expect(new Set(refused.flatMap(({ answers }) => answers))).toEqual(new Set([503]));
    expect(memory()).toBeLessThan(400);
    const accepted = clients.filter((client) => !refused.includes(client));
    for (const { socket } of accepted) socket.write(large.slice(-1));
    await Promise.all(accepted.map((client) => client.answered(1)));
    expect(accepted.map(({ answers }) => answers)).toContainEqual([200]);
    for (const { socket } of clients) socket.destroy();
  });
});
