import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { CertificateFiles } from '../../src/process/certificate-files.js';
import { installCertificate, readPem } from '../support/certificates.js';
import { message, plant } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { inTime } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

const TOO_LARGE = message({ more: [`X: ${'x'.repeat(20_000)}`] });

/** Returns a request after whose answer the service ends the connection. */
function lastCreation(id: number): string {
  return message({ body: plant(id), more: ['Connection: close'] });
}

/** Opens a connection, and waits for an event of it. */
async function open(port: number, pair: 'first' | 'second' = 'first', event = 'secureConnect'): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: readPem(`${pair}.crt`) });
  await inTime(once(socket, event), () => `the event ${event} comes`);
  return socket;
}

/** Opens a connection without TLS. */
async function openPlainly(port: number): Promise<Socket> {
  return (await RawClient.open(`http://127.0.0.1:${port}`)).socket;
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

describe('A service with a certificate', () => {
  let service: Service;

  beforeEach(async () => {
    installCertificate(directory);
    const { current: certificate } = new CertificateFiles(directory.file('tls.crt'), directory.file('tls.key'));
    service = await startService({ certificate, limits: { request: 1_000 } });
  });

  afterEach(() => service.close());

  it.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['headers that are too large', TOO_LARGE, 431],
    ['half a request', 'POST /plants HTTP/1.1\r\nHost: loc', 408],
  ])('answers %s with the same error as without TLS', async (_, text, error) => {
    const socket = await open(service.port);
    socket.write(text);

    const [head = '', body = ''] = (await readAll(socket)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).toMatchObject({ error });
  });

  it('closes the connection of a client that sends a plant in clear text, without an answer', async () => {
    const socket = await openPlainly(service.port);
    socket.write(message());

    expect(await readAll(socket)).not.toContain('HTTP/1.1');
    expect(await service.rows()).toEqual([]);
  });

  it('closes a connection without a TLS handshake in time', async () => {
    expect(await readAll(await openPlainly(service.port))).toBe('');
  });

  it('refuses TLS before 1.2', async () => {
    const socket = connect({
      port: service.port,
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    });

    await expect(once(socket, 'secureConnect')).rejects.toThrow(/protocol version/);
  });
});

describe('TLS_CERT_FILE and TLS_KEY_FILE', () => {
  const FILES: Variables = { TLS_CERT_FILE: 'tls.crt', TLS_KEY_FILE: 'tls.key' };

  /** Starts a service with the first certificate, and returns its port. */
  async function start(): Promise<{ service: ServiceProcess; port: number }> {
    const { service, url } = await directory.start({ ...WITH_TOKEN, ...installCertificate(directory) });
    expect(url).toMatch(/^https:/);
    return { service, port: Number(new URL(url).port) };
  }

  it('are reloaded when they change, and connections stay open', async () => {
    const { service, port } = await start();
    const early = await open(port);

    directory.write('tls.crt', readPem('second.crt'));
    await service.printed(/(tls\.crt and tls\.key must be a certificate and its private key, both PEM; keeping)/);
    const between = await open(port);
    directory.write('tls.key', readPem('second.key'));
    await service.printed(/(The certificate has changed: the new one is valid until 2\d{3}-)/);

    const late = await open(port, 'second');
    for (const [index, socket] of [early, between, late].entries()) {
      socket.write(lastCreation(index));
      expect(await readAll(socket)).toContain(`{"name":"Plant ${index}"}`);
    }
  });

  it('stay in use when the key disappears, until both can be read again', async () => {
    const { service, port } = await start();

    rmSync(directory.file('tls.key'));
    await service.printed(/(there is no file tls\.key: [^"]+; keeping the previous certificate)/);
    (await open(port)).destroy();
    installCertificate(directory, 'second');
    await service.printed(/(The certificate has changed)/);

    (await open(port, 'second')).destroy();
  });

  it('let the service stop in time while clients are connected', async () => {
    const { service, port } = await start();
    const known = await open(port);
    known.write(message());
    await inTime(once(known, 'data'), () => 'the request is answered');
    const clients = [known, await open(port)];

    const before = performance.now();
    expect(await service.stop()).toBe(0);
    expect(performance.now() - before).toBeLessThan(8_000);
    for (const client of clients) client.destroy();
  });

  it.each<[string, RegExp, Variables, () => unknown]>([
    ['one of them is not set', /^plant-store: TLS_KEY_FILE must be set/, { TLS_KEY_FILE: '' }, () => undefined],
    ['a file does not exist', /there is no file no-tls\.crt/, { TLS_CERT_FILE: 'no-tls.crt' }, () => undefined],
    [
      'the key belongs to another certificate',
      /must be a certificate and its private key/,
      {},
      () => directory.write('tls.key', readPem('second.key')),
    ],
    [
      'the key is world-readable',
      /chmod 600 tls\.key/,
      {},
      () => directory.write('tls.key', readPem('first.key'), 0o644),
    ],
  ])('end the start with status 2 and one line when %s', async (_, complaint, variables, spoil) => {
    const files = installCertificate(directory);
    spoil();

    const failed = directory.launch({ ...WITH_TOKEN, ...files, ...variables });

    expect(await failed.ended).toBe(2);
    expect(failed.stderr).toMatch(complaint);
    expect(failed.stderr).toMatch(/^plant-store: TLS_[A-Z]+_FILE[^\n]+\n$/);
  });

  it.each<{ place: string; variables: Variables; warnings: string }>([
    { place: 'on all addresses', variables: { HOST: '0.0.0.0' }, warnings: 'one warning' },
    { place: 'behind a proxy', variables: { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.0/8' }, warnings: 'no warning' },
    { place: 'on loopback', variables: {}, warnings: 'no warning' },
    { place: 'on all addresses, but with them', variables: { HOST: '0.0.0.0', ...FILES }, warnings: 'no warning' },
  ])('cause $warnings of tokens in clear text on a service $place', async ({ variables, warnings }) => {
    installCertificate(directory);
    const { service } = await directory.start({ ...WITH_TOKEN, ...variables });
    await service.stop();

    const lines = service.stdout.match(/"level":"warn".*Tokens travel in clear text/g) ?? [];
    expect(lines).toHaveLength(warnings === 'one warning' ? 1 : 0);
  });
});
