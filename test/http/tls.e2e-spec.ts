/** HTTPS from TLS_CERT_FILE and TLS_KEY_FILE, which are reloaded when they change. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { installCertificate, readPem } from '../support/certificates.js';
import { message, plant } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { inTime } from '../support/until.js';

/** Opens a connection whose certificate must be this one. */
async function open(port: number, pair: 'first' | 'second' = 'first'): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: readPem(`${pair}.crt`) });
  await inTime(once(socket, 'secureConnect'), () => 'the TLS handshake ends');
  return socket;
}

/** Returns everything that comes on a connection until it is closed. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('end', () => socket.destroy()).on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await inTime(closed, () => `the connection is closed, which has ${JSON.stringify(text)}`);
  return text;
}

describe('A port with a certificate', () => {
  let service: Service;

  beforeAll(async () => {
    const certificate = { cert: readPem('first.crt'), key: readPem('first.key') };
    service = await startService({ certificate, limits: { request: 1_000 } });
  });

  afterAll(() => service.close());

  /** Opens a connection without TLS. */
  async function openPlainly(): Promise<Socket> {
    return (await RawClient.open(`http://127.0.0.1:${service.port}`)).socket;
  }

  it.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['half a request', 'POST /plants HTTP/1.1\r\nHost: loc', 408],
  ])('answers %s with the same error as without TLS', async (_, text, error) => {
    const socket = await open(service.port);
    socket.write(text);

    const [head = '', body = ''] = (await readAll(socket)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).toMatchObject({ error });
  });

  it('closes the connection of a client that sends a plant in clear text, without an answer', async () => {
    const socket = await openPlainly();
    socket.write(message());

    expect(await readAll(socket)).not.toContain('HTTP/1.1');
    expect(await service.rows()).toEqual([]);
  });

  it('closes a connection without a TLS handshake in time', async () => {
    expect(await readAll(await openPlainly())).toBe('');
  });
});

describe('TLS_CERT_FILE and TLS_KEY_FILE', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('are reloaded when they change and fit, while connections stay open, which do not delay a stop', async () => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, ...installCertificate(directory) });
    const port = Number(new URL(url).port);
    const early = await open(port);

    directory.write('tls.crt', readPem('second.crt'));
    await service.printed(/(tls\.crt and tls\.key must be a certificate and its private key, both PEM; keeping)/);
    rmSync(directory.file('tls.key'));
    await service.printed(/(there is no file tls\.key: [^"]+; keeping the previous certificate)/);
    const between = await open(port);
    directory.write('tls.key', readPem('second.key'));
    await service.printed(/(The certificate has changed: the new one is valid until 2\d{3}-)/);

    const late = await open(port, 'second');
    for (const [index, socket] of [early, between, late].entries()) {
      // The last answer of its connection.
      socket.write(message({ body: plant(index), more: ['Connection: close'] }));
      expect(await readAll(socket)).toContain(`{"name":"Plant ${index}"}`);
    }
    const idle = await open(port, 'second');
    idle.write(message({ body: plant(3) }));
    await inTime(once(idle, 'data'), () => 'the request is answered');
    const before = performance.now();
    expect(await service.stop()).toBe(0);
    expect(performance.now() - before).toBeLessThan(8_000);
    idle.destroy();
  });
});
