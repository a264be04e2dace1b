/** SIGTERM refuses new connections, cuts no answer off, and ends the service within SHUTDOWN_TIMEOUT. */
import { TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { chunkedMessage, HEAD, message, plant } from '../support/http-messages.js';
import { openRequest, RawClient } from '../support/raw-client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { Workload } from '../support/workload.js';

const directory = ServiceDirectory.ofEachTest();
let service: ServiceProcess;
let url: string;

/** Starts the service of a test. */
async function start(variables: Variables = {}): Promise<void> {
  ({ service, url } = await directory.start({ ...WITH_TOKEN, ...variables }));
}

/** Waits until the service refuses connections. */
function connectionsAreRefused(): Promise<void> {
  return until('connections are refused', async () => {
    const client = await RawClient.open(url).catch(() => undefined);
    client?.socket.destroy();
    return client === undefined;
  });
}

describe('SIGTERM', () => {
  it('lets a slow client take an answer of 15 MB whole, and meanwhile refuses connections', async () => {
    await start({ BODY_LIMIT: '20mb', SHUTDOWN_TIMEOUT: '1m' });
    const name = 'n'.repeat(15_000_000);
    const client = await RawClient.open(url);
    client.socket.pause();
    client.socket.write(message({ body: `{"id":1,"name":"${name}"}` }));
    await service.printed(/("path":"\/plants","statusCode":200)/);

    service.signal('SIGTERM');
    await connectionsAreRefused();
    client.socket.resume();
    await client.closed;

    expect(client.received.slice(client.received.indexOf('{'))).toBe(`{"name":"${name}"}`);
    expect(await service.ended).toBe(0);
  });

  it('answers a request in flight with Connection: close, also if the same signal comes twice, as from npm', async () => {
    await start({ SHUTDOWN_TIMEOUT: '60m' });
    const client = await openRequest(url);

    service.signal('SIGINT');
    await connectionsAreRefused();
    service.signal('SIGINT');
    client.socket.write(plant(1));
    await client.closed;

    expect(client.received).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*\{"name":"Plant 1"\}$/i);
    expect(await service.ended).toBe(0);
    expect(service.lines.at(-1)).toContain('"message":"Stopped"');
  });

  it('ends the service at once after strange clients, none of which owes a body', async () => {
    await start({ SHUTDOWN_TIMEOUT: '60m' });
    const valid = message();
    const stranger = message({ authorization: [] });
    const behaviours = [
      ...['', '\r\n', 'POST /pla', 'POST /plants HTTP/1.1\r\nHost: loc', 'garbage\r\n\r\n', '\x16\x03\x01'],
      ...[valid, valid.repeat(3), `${valid}POST /pl`, `${valid}garbage\r\n\r\n`, stranger, stranger.slice(0, -9)],
      HEAD.replace(TOKEN, 'none'),
      chunkedMessage('1\r\n{\r\n1\r\n', { authorization: [] }),
      message({ line: 'CONNECT plants.example:80 HTTP/1.1' }),
      message({ more: ['Connection: Upgrade', 'Upgrade: h2c'] }),
      HEAD.replace('100-continue', 'a-miracle'),
    ];
    const clients: RawClient[] = [];
    for (const sent of behaviours) {
      for (const end of ['none', 'FIN', 'reset']) {
        const client = await RawClient.open(url, { allowHalfOpen: end === 'FIN' });
        client.socket.write(sent);
        if (end === 'FIN') client.finish();
        if (end === 'reset') client.reset();
        clients.push(client);
      }
    }
    // After this exchange, the service has read what the clients have sent.
    await fetch(url);

    const before = performance.now();
    expect(await service.stop('SIGTERM')).toBe(0);
    expect(performance.now() - before).toBeLessThan(30_000);
    for (const { socket } of clients) socket.destroy();
  });

  it('waits SHUTDOWN_TIMEOUT for a body that does not come, and no longer', async () => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    await openRequest(url);

    const before = performance.now();
    expect(await service.stop('SIGTERM')).toBe(0);
    expect(performance.now() - before).toBeGreaterThan(1_900);
    expect(performance.now() - before).toBeLessThan(15_000);
    expect(service.lines.at(-1)).toContain('Stopped after SHUTDOWN_TIMEOUT: requests in flight may have no answer');
  });

  it('cuts no answer and loses no plant under load', async () => {
    await start();
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 3 });
    await workload.operations(1_000);

    expect(await service.stop('SIGTERM')).toBe(0);
    await workload.stop();

    expect(workload.cut).toBe(0);
    expect([...workload.errors.keys()]).toEqual([409]);
    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
  });
});
