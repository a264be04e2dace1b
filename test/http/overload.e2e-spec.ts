import { execFileSync } from 'node:child_process';
import { creation } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();
let service: ServiceProcess;
let clients: RawClient[];

/** Starts a service, and opens connections to it. */
async function start(connections: number, variables: Variables = {}): Promise<void> {
  const { url, ...started } = await directory.start({ ...WITH_TOKEN, ...variables });
  service = started.service;
  clients = await Promise.all(Array.from({ length: connections }, () => RawClient.open(url)));
}

afterEach(() => {
  for (const { socket } of clients) socket.destroy();
});

/** Returns the resident memory of the service in MiB. */
function memory(): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', `${service.pid}`], { encoding: 'utf8' })) / 1_024;
}

/** Waits until this many clients have an answer, and returns them. */
async function answeredOf(count: number): Promise<RawClient[]> {
  const answered = (): RawClient[] => clients.filter(({ received }) => received !== '');
  await until(`${count} clients have an answer`, () => answered().length >= count);
  return answered();
}

describe('More load than the service can handle', () => {
  it('is refused with error 503 immediately, and the rest is answered when the store is available', async () => {
    const most = 2_048;
    await start(most + 76, { STORE_TIMEOUT: '2m', MAX_CONNECTIONS: '10000' });
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    for (const [id, { socket }] of clients.entries()) socket.write(creation(id));
    for (const { received } of await answeredOf(76)) {
      expect(received).toMatch(/\r\nRetry-After: 1\r\n[^]*\{"error":503,/i);
    }
    other.close();

    await Promise.all(clients.map((client) => client.answered(1)));
    const answers = clients.flatMap((client) => client.answers);
    const stored = answers.filter((answer) => answer === 200).length;
    expect(answers.filter((answer) => answer === 503)).toHaveLength(most + 76 - stored);
    expect(stored).toBe(most);
    expect(directory.rows()).toHaveLength(stored);
  });

  it('is answered in order and in bounded memory when 20,000 requests come at once', async () => {
    const [connections, depth] = [200, 100];
    await start(connections);
    const before = memory();

    for (const [index, { socket }] of clients.entries()) {
      socket.write(Array.from({ length: depth }, (_, place) => creation(index * depth + place)).join(''));
    }
    await Promise.all(clients.map((client) => client.answered(depth)));

    const answers = clients.flatMap((client) => client.answers);
    expect(answers).toHaveLength(connections * depth);
    expect(answers.filter((answer) => answer !== 200 && answer !== 503)).toEqual([]);
    expect(memory()).toBeLessThan(before + 400);
    clients[0]?.socket.write(creation(1_000_000));
    await clients[0]?.answered(depth + 1);
    expect(clients[0]?.answers.at(-1)).toBe(200);
  });

  it('is kept in bounded memory when requests without a valid token are pipelined', async () => {
    // Node parses a packet as a whole: each of these occupies 7 MB until its connection closes.
    await start(25);

    // The others have 18 bytes each.
    const first = 'GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n';
    for (const { socket } of clients) socket.write(first + 'GET / HTTP/1.1\r\n\r\n'.repeat(3_500));
    await Promise.all(clients.map(({ closed }) => closed));

    expect(clients.map(({ answers }) => answers)).toEqual(clients.map(() => [401]));
    expect(memory()).toBeLessThan(320);
  });

  it('is refused with error 503 when bodies take all the memory reserved for them', async () => {
    await start(100);

    // Bodies of 1 MB without their last byte, so that the service has to keep them.
    const large = creation(1, 1_000_000);
    for (const { socket } of clients) socket.write(large.slice(0, -1));
    const refused = await answeredOf(30);

    expect(refused.map(({ answers }) => answers)).toEqual(refused.map(() => [503]));
    expect(memory()).toBeLessThan(400);
    const accepted = clients.filter((client) => !refused.includes(client));
    for (const { socket } of accepted) socket.write(large.slice(-1));
    await Promise.all(accepted.map((client) => client.answered(1)));
    expect(accepted.map(({ answers }) => answers)).toContainEqual([200]);
  });
});
