import { TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { chunkedMessage, creation, HEAD, message, plant } from '../support/http-messages.js';
import { openRequest, RawClient, refusesConnections } from '../support/raw-client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { Workload } from '../support/workload.js';

const directory = ServiceDirectory.ofEachTest();
let service: ServiceProcess;
let url: string;

/** Starts the service of a test. */
async function start(variables: Variables): Promise<void> {
  ({ service, url } = await directory.start({ ...WITH_TOKEN, ...variables }));
}

/** Opens a connection, and sends on it. */
async function open(sent: string, options = {}): Promise<RawClient> {
  const client = await RawClient.open(url, options);
  client.socket.write(sent);
  return client;
}

describe('SIGTERM', () => {
  it.each([
    ['is silent', ''],
    ['has sent half a request head', 'POST /plants HTTP/1.1\r\nHost: loc'],
  ])('closes the connection of a client that %s, and ends the service with status 0', async (_what, sent) => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    const client = await open(sent);
    // After this exchange, the service has accepted the first connection, too.
    await fetch(url);

    service.signal('SIGTERM');
    await client.closed;

    expect(client.received).toBe('');
    expect(await service.ended).toBe(0);
  });

  it('refuses new connections while a client does not take its answer', async () => {
    await start({ BODY_LIMIT: '32mb', SHUTDOWN_TIMEOUT: '1m' });
    const slow = await RawClient.open(url);
    slow.socket.pause();
    slow.socket.write(creation(1, 20_000_000));
    await service.printed(/("message":"request")/);

    service.signal('SIGTERM');
    await refusesConnections(url);

    slow.socket.destroy();
    expect(await service.ended).toBe(0);
  });

  it('answers a request in flight with Connection: close', async () => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    const client = await openRequest(url);

    service.signal('SIGTERM');
    await refusesConnections(url);
    client.socket.write(plant(1));
    await client.closed;

    expect(client.received).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*\{"name":"Plant 1"\}$/i);
    expect(await service.ended).toBe(0);
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

  it.each([
    ['keeps its connection', []],
    ['closes its connection', ['Connection: close']],
  ])('waits for a slow client that takes an answer of 15 MB, which %s', async (_what, more) => {
    const variables = { BODY_LIMIT: '20mb', SHUTDOWN_TIMEOUT: '1m', REQUEST_TIMEOUT: '1m' };
    await start({ ...variables, LOG_REQUESTS: 'all' });
    const name = 'n'.repeat(15_000_000);
    const client = await RawClient.open(url);
    client.socket.pause();
    client.socket.write(message({ more, body: `{"id":1,"name":"${name}"}` }));
    await service.printed(/("path":"\/plants","statusCode":200)/);

    service.signal('SIGTERM');
    await draining();
    client.socket.resume();
    await client.closed;

    expect(client.received.slice(client.received.indexOf('{'))).toBe(`{"name":"${name}"}`);
    expect(await service.ended).toBe(0);
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

  it('ends the service immediately when a second signal follows', async () => {
    await start({ SHUTDOWN_TIMEOUT: '60m' });
    await openRequest(url);
    service.signal('SIGTERM');
    await refusesConnections(url);

    expect(await service.stop('SIGINT')).toBe(0);
  });

  it('answers the request in flight when npm passes on the SIGINT that the service has had', async () => {
    await start({ SHUTDOWN_TIMEOUT: '60m' });
    const client = await openRequest(url);

    service.signal('SIGINT');
    await refusesConnections(url);
    service.signal('SIGINT');
    client.socket.write(plant(1));
    await client.closed;

    expect(client.answers).toEqual([200]);
    expect(await service.ended).toBe(0);
    expect(service.lines.at(-1)).toContain('"message":"Stopped"');
  });

  it('cuts no answer and loses no plant under load', async () => {
    await start({});
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 3 });
    await workload.operations(1_000);

    const status = await service.stop('SIGTERM');
    await workload.stop();

    expect(status).toBe(0);
    expect(workload.cut).toBe(0);
    expect([...workload.errors.keys()]).toEqual([409]);
    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
  });

  /** Waits until the service closes connections after their next answers, or refuses them. */
  function draining(): Promise<void> {
    return until('the service drains', async () => {
      const client = await RawClient.open(url).catch(() => undefined);
      if (client === undefined) return true;
      client.socket.write(message({ line: 'GET / HTTP/1.1', framing: [], body: '' }));
      // The service may close the connection before it has read the request.
      await Promise.race([client.answered(1).catch(() => undefined), client.closed]);
      client.socket.destroy();
      return !/^Connection: keep-alive\r$/im.test(client.received);
    });
  }
});
