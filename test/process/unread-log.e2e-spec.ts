import { message } from '../support/http-messages.js';
import { ask, RawClient } from '../support/raw-client.js';
import { reservePort } from '../support/ports.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

/** Bytes of lines that wait in a process, and bytes that the system keeps for the reader, at most. */
const MAX_WAITING = 16_777_216;
const MAX_KEPT = 500_000;

const directory = ServiceDirectory.ofEachTest();

/** Connects the log to a pipe, as a shell or a container engine does. Node's own `pipe` is a socket. */
const PIPED = { wrapper: ['sh', '-c', 'mkfifo log && (cat log &) && exec "$@" > log', 'sh'] };

/** Starts a service, and sends requests without reading its log, until their lines have this many bytes. */
async function startUnread(bytes: number): Promise<{ service: ServiceProcess; url: string; sent: number }> {
  const { service, url } = await directory.start(WITH_TOKEN, PIPED);
  const line = `GET /${'x'.repeat(400)} HTTP/1.1`;
  const request = message({ line, framing: [], body: '' });
  const client = await RawClient.open(url);
  client.socket.write(request);
  const { length } = await service.printed(/^(.*"request".*)$/m);
  service.holdOutput();
  let sent = 1;
  for (; sent * length < bytes; sent += 100) {
    client.received = '';
    client.socket.write(request.repeat(100));
    await client.answered(100);
  }
  client.socket.destroy();
  return { service, url, sent };
}

describe('A service whose log cannot be written', () => {
  it('goes on, and stops with status 0', async () => {
    const port = `${reservePort().port}`;
    const url = `http://127.0.0.1:${port}`;
    const wrapper = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];
    const service = directory.launch({ ...WITH_TOKEN, PORT: port }, { wrapper });
    await until('it listens', async () => (await ask(url)) === 200);

    // Fails meanwhile, because a write comes after 100 ms at the latest.
    const began = performance.now();
    while (performance.now() - began < 300) expect(await ask(url)).toBe(200);
    expect(await service.stop()).toBe(0);
  });
});

describe('A service whose log is not read', () => {
  it('answers all requests, keeps 16 MiB of lines, and drops the others until the log is read again', async () => {
    // More than wait, and than the system keeps.
    const { service, url, sent } = await startUnread(MAX_WAITING + 2 * MAX_KEPT);
    service.releaseOutput();
    await until('the lines that waited are read', () => service.stdout.length > MAX_WAITING - MAX_KEPT);

    expect(await ask(url)).toBe(200);
    expect(await service.stop()).toBe(0);
    expect(service.stdout.length).toBeLessThan(MAX_WAITING + MAX_KEPT);
    const lines = service.lines.map((line) => JSON.parse(line) as { message: string; statusCode?: number });
    const dropped = lines.findIndex(({ message }) => message.startsWith('Lines dropped'));
    expect(lines[dropped]?.message).toMatch(/ too slow: \d+$/);
    expect(lines[dropped + 1]).toMatchObject({ statusCode: 200 });
    const written = lines.filter(({ statusCode }) => statusCode !== undefined).length;
    expect(written + Number(lines[dropped]?.message.split(': ')[1])).toBe(sent + 1);
  });

  it('ends when the log is read again, with the last line Stopped', async () => {
    const { service, url } = await startUnread(2 * MAX_KEPT);
    service.signal('SIGTERM');
    await until('it has closed its port', async () => (await ask(url)) === undefined);
    service.releaseOutput();

    expect(await service.ended).toBe(0);
    expect(service.lines.at(-1)).toContain('"message":"Stopped"');
  });
});
