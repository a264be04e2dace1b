import { readdirSync } from 'node:fs';
import { TOKEN } from '../support/client.js';
import { creation } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { jwtOfUnknownKey, SilentProvider } from '../support/silent-provider.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();
const provider = SilentProvider.ofSuite();

async function start(maxConnections: string, variables: Variables = {}) {
  return directory.start({ ...WITH_TOKEN, MAX_CONNECTIONS: maxConnections, ...variables });
}

/** Returns how many files and connections a process has open. */
function descriptorsOf({ pid }: ServiceProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Opens a connection that is in use: after an answer, its client has sent a request but for its last byte. */
async function openInUse(url: string, id: number): Promise<RawClient> {
  const client = await createPlant(url, id);
  client.socket.write(creation(id).replace('Content-Type', 'Expect: 100-continue\r\nContent-Type').slice(0, -1));
  await client.receives('100 Continue');
  return client;
}

/** Creates a plant on a connection of its own, which stays open. */
async function createPlant(url: string, id: number): Promise<RawClient> {
  const client = await RawClient.open(url);
  client.socket.write(creation(id));
  await client.answered(1);
  expect(client.answers).toEqual([200]);
  return client;
}

describe('Connections', () => {
  it('beyond MAX_CONNECTIONS get error 503 without a request while all others are in use', async () => {
    const { service, url } = await start('20');
    const clients: RawClient[] = [];
    for (let id = 0; id < 20; id += 1) clients.push(await openInUse(url, id));

    // Each of them loses its place to the next one at the latest, so that they never add up: even if they stay.
    const before = descriptorsOf(service);
    const others = await Promise.all(Array.from({ length: 200 }, () => RawClient.open(url, { allowHalfOpen: true })));
    const isOver = ({ received, socket }: RawClient): boolean =>
      received !== '' || socket.readableEnded || socket.closed;
    await until('the service has answered or closed each of them', () => others.every(isOver));
    expect(descriptorsOf(service)).toBeLessThan(before + 10);
    for (const { socket } of others) socket.end();
    await Promise.all(others.map(({ closed }) => closed));
    for (const { answers } of others) expect([[503], []]).toContainEqual(answers);

    const refused = await RawClient.open(url);
    await refused.closed;
    expect(refused.answers).toEqual([503]);
    expect(refused.received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n(?:.+\r\n)*Retry-After: 1\r\n/);
    expect(refused.received).toMatch(/\r\nConnection: close\r\n/);

    clients[0]?.socket.end();
    await clients[0]?.closed;
    clients.push(await createPlant(url, 100));
    clients[1]?.socket.write('}');
    await clients[1]?.answered(2);
    expect(clients[1]?.answers).toEqual([200, 200]);
    for (const { socket } of clients) socket.destroy();
  });

  it('beyond MAX_CONNECTIONS replace one that waits, although one that was refused stays open', async () => {
    const { url } = await start('2');
    const waiting = await openInUse(url, 1);
    const busy = await openInUse(url, 2);
    const refused = await RawClient.open(url, { allowHalfOpen: true });
    await refused.answered(1);
    expect(refused.answers).toEqual([503]);
    waiting.socket.write('}');
    await waiting.answered(2);

    const newcomer = await createPlant(url, 3);

    await waiting.closed;
    busy.socket.write('}');
    await busy.answered(2);
    expect(busy.answers).toEqual([200, 200]);
    for (const { socket } of [refused, busy, newcomer]) socket.destroy();
  });

  it('beyond MAX_CONNECTIONS replace the one that has waited the longest, which need not be the oldest', async () => {
    const { url } = await start('2');
    const oldest = await createPlant(url, 1);
    const waiting = await createPlant(url, 2);
    oldest.socket.write(creation(1));
    await oldest.answered(2);

    const newcomer = await createPlant(url, 3);

    await waiting.closed;
    oldest.socket.write(creation(1));
    await oldest.answered(3);
    expect(oldest.answers).toEqual([200, 200, 200]);
    for (const { socket } of [oldest, newcomer]) socket.destroy();
  });

  it('beyond MAX_CONNECTIONS replace those that only wait, first those without a valid token', async () => {
    const { url } = await start('20');
    const known = await createPlant(url, 1);
    // An error after the 200 makes it no stranger.
    known.socket.write(creation(1, 5));
    await known.answered(2);
    // Their clients send nothing, half a head, or no token, and keep them open.
    const beginnings = ['', 'POST /plants HTTP/1.1\r\nHost: loc', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'];
    const strangers: RawClient[] = [];
    for (let count = 0; count < 100; count += 1) {
      const client = await RawClient.open(url);
      client.socket.write(beginnings[count % beginnings.length] ?? '');
      strangers.push(client);
    }
    // Each of them gets in while strangers hold all connections.
    for (let id = 2; id < 40; id += 1) (await createPlant(url, id)).socket.end();

    known.socket.write(creation(1));
    await known.answered(3);
    expect(known.answers).toEqual([200, 409, 200]);
    for (const { socket } of [known, ...strangers]) socket.destroy();
  });

  it('beyond MAX_CONNECTIONS replace those whose requests wait for an identity provider', async () => {
    const { url } = await start('20', provider.variables());
    const known = await createPlant(url, 1);
    const strangers = await Promise.all(Array.from({ length: 19 }, () => RawClient.open(url)));
    for (const { socket } of strangers) socket.write(creation(1).replace(TOKEN, jwtOfUnknownKey()));
    // After this exchange, the service has read the requests before it.
    known.socket.write(creation(2));
    await known.answered(2);

    for (let id = 3; id < 40; id += 1) (await createPlant(url, id)).socket.end();

    known.socket.write(creation(1));
    await known.answered(3);
    expect(known.answers).toEqual([200, 200, 200]);
    expect(strangers.flatMap(({ answers }) => answers)).toEqual([]);
    for (const { socket } of [known, ...strangers]) socket.destroy();
  });
});
