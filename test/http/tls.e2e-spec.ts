import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect as connectPlainly, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { readCertificate } from '../../src/http/certificate.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');

let directory: ServiceDirectory;

beforeEach(() => {
  directory = new ServiceDirectory();
});

afterEach(() => directory.remove());

/** Copies a certificate or a key into the directory of the service. */
function install(source: string, target: string, mode?: number): string {
  return directory.write(target, readFileSync(join(CERTIFICATES, source), 'utf8'), mode);
}

function plant(id: number, headers = ''): string {
  const body = `{"id":${id},"name":"Plant ${id}"}`;
  return (
    `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n${headers}` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

const LAST = 'Connection: close\r\n';

/** Returns everything that comes on a connection until its end. */
async function readAll(socket: TLSSocket | ReturnType<typeof connectPlainly>): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  await once(socket, 'end');
  return text;
}

/** Waits until a connection is closed, in whatever way. */
function isClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket
      .on('error', () => undefined)
      .once('close', () => resolve())
      .resume();
  });
}

async function open(port: number, certificate = 'first'): Promise<TLSSocket> {
  const ca = readFileSync(join(CERTIFICATES, `${certificate}.crt`));
  const socket = connect({ port, host: '127.0.0.1', ca });
  await once(socket, 'secureConnect');
  return socket;
}

/** Opens a connection, and waits until the handshake is complete for the server too, which then sends a ticket. */
async function openCompletely(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: readFileSync(join(CERTIFICATES, 'first.crt')) });
  await once(socket, 'session');
  return socket;
}

describe('A service with a certificate', () => {
  let service: Service;

  beforeEach(async () => {
    const certificate = readCertificate(install('first.crt', 'tls.crt'), install('first.key', 'tls.key'));
    service = await startService({ certificate, limits: { headers: 500, connections: 2 } });
  });

  afterEach(() => service.close());

  it('creates several plants on one connection', async () => {
    const socket = await open(service.port);
    socket.write(plant(1) + plant(2));
    socket.write(plant(3, LAST));

    expect((await readAll(socket)).match(/\{"name":"Plant \d"\}/g)).toEqual(
      [1, 2, 3].map((id) => `{"name":"Plant ${id}"}`),
    );
    socket.destroy();
    expect(await service.rows()).toHaveLength(3);
  });

  it('answers a client that has closed its side', async () => {
    const socket = await open(service.port);
    socket.end(plant(1));

    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\{"name":"Plant 1"\}$/);
  });

  it.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['headers that are too large', `POST / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['half a request', 'POST /plants HTTP/1.1\r\nHost: loc', 408],
    ['a missing token', `POST /plants HTTP/1.1\r\nHost: localhost\r\n${LAST}Content-Length: 5000000\r\n\r\nx`, 401],
    ['a missing Host', 'POST /plants HTTP/1.1\r\n\r\n', 400],
  ])('answers %s with the same error as without TLS', async (_, text, error) => {
    const socket = await open(service.port);
    socket.write(text);

    const [head = '', body = ''] = (await readAll(socket)).split('\r\n\r\n');
    socket.destroy();
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).toMatchObject({ error });
  });

  it('answers a good request and the garbage after it in order', async () => {
    const socket = await open(service.port);
    socket.write(`${plant(1)}garbage\r\n\r\n`);

    const answers = await readAll(socket);
    socket.destroy();
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  it('refuses connections with error 503 when MAX_CONNECTIONS are in use', async () => {
    const sockets = [await open(service.port), await open(service.port)];
    for (const socket of sockets) {
      socket.write(plant(1, 'Expect: 100-continue\r\n').slice(0, -1));
      // Now it reads the body.
      await once(socket, 'data');
    }
    const oneMore = await open(service.port);

    expect(await readAll(oneMore)).toMatch(/"error":503/);
    for (const socket of [...sockets, oneMore]) socket.destroy();
  });

  it('closes the connection that has waited the longest, in a handshake or for a request, for a further one', async () => {
    await service.close();
    const certificate = readCertificate(directory.file('tls.crt'), directory.file('tls.key'));
    service = await startService({ certificate, limits: { connections: 2 } });
    const handshake = connectPlainly(service.port, '127.0.0.1');
    const handshakeIsClosed = isClosed(handshake);
    await once(handshake, 'connect');
    const idle = await openCompletely(service.port);
    const idleIsClosed = isClosed(idle);
    const first = await openCompletely(service.port);
    await handshakeIsClosed;
    const second = await openCompletely(service.port);
    await idleIsClosed;

    for (const [index, socket] of [first, second].entries()) {
      socket.write(plant(index, LAST));
      expect(await readAll(socket)).toContain(`{"name":"Plant ${index}"}`);
    }
  });

  it.each([
    ['a plant', plant(1)],
    ['CONNECT', 'CONNECT plants.example:80 HTTP/1.1\r\nHost: plants.example:80\r\n\r\n'],
    ['garbage', 'garbage\r\n\r\n'],
  ])('closes the connection of a client that sends %s in clear text, without an answer', async (_, text) => {
    const socket = connectPlainly(service.port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    socket.write(text);
    await isClosed(socket);

    expect(received).not.toContain('HTTP/1.1');
    expect(await service.rows()).toEqual([]);
  });

  it('closes a connection without a TLS handshake in time', async () => {
    const socket = connectPlainly(service.port, '127.0.0.1').resume();
    socket.on('error', () => undefined);

    await once(socket, 'close');
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
  function launch(variables: Variables = {}): ServiceProcess {
    return directory.launch({ ...WITH_TOKEN, TLS_CERT_FILE: 'tls.crt', TLS_KEY_FILE: 'tls.key', ...variables });
  }

  it('are reloaded when they change, and connections stay open', async () => {
    install('first.crt', 'tls.crt');
    install('first.key', 'tls.key');
    const service = launch();
    const url = await service.listening();
    expect(url).toMatch(/^https:/);
    const port = Number(new URL(url).port);
    const early = await open(port);

    install('second.crt', 'tls.crt');
    await service.printed(/(tls\.crt and tls\.key must be a certificate and its private key, both PEM; keeping)/);
    const between = await open(port);
    install('second.key', 'tls.key');
    await service.printed(/(The certificate has changed: the new one is valid until 2\d{3}-)/);

    const late = await open(port, 'second');
    for (const [index, socket] of [early, between, late].entries()) {
      socket.write(plant(index, LAST));
      expect(await readAll(socket)).toContain(`{"name":"Plant ${index}"}`);
      socket.destroy();
    }
    expect(await service.stop()).toBe(0);
  });

  it.each<[string, () => unknown]>([
    ['disappears', () => rmSync(directory.file('tls.key'))],
    [
      'is replaced by a pipe that has no writer',
      () => execFileSync('sh', ['-c', 'mkfifo tls.pipe && mv tls.pipe tls.key'], { cwd: directory.path }),
    ],
  ])('stay in use when the key %s, until both can be read again', async (_, spoil) => {
    install('first.crt', 'tls.crt');
    install('first.key', 'tls.key');
    const service = launch();
    const port = Number(new URL(await service.listening()).port);

    spoil();
    await service.printed(/(tls\.key cannot be read: [^"]+; keeping the previous certificate)/);
    (await open(port)).destroy();
    rmSync(directory.file('tls.key'), { force: true });
    install('second.crt', 'tls.crt');
    install('second.key', 'tls.key');
    await service.printed(/(The certificate has changed)/);

    (await open(port, 'second')).destroy();
    expect(await service.stop()).toBe(0);
  });

  it('let the service stop in time while clients are connected', async () => {
    install('first.crt', 'tls.crt');
    install('first.key', 'tls.key');
    const service = launch();
    const url = await service.listening();
    const port = Number(new URL(url).port);
    const idle = await open(port);
    const silent = connectPlainly(port, '127.0.0.1').resume();
    silent.on('error', () => undefined);
    await once(silent, 'connect');
    const agent = new Agent({ ca: readFileSync(join(CERTIFICATES, 'first.crt')), keepAlive: true });
    const outgoing = request(`${url}/plants`, { agent });
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as { resume(): void }[];
    answer?.resume();

    const before = performance.now();
    expect(await service.stop()).toBe(0);
    expect(performance.now() - before).toBeLessThan(8_000);
    idle.destroy();
    agent.destroy();
  });

  it.each<[string, RegExp, Record<string, string>, () => unknown]>([
    [
      'one of them is not set',
      /TLS_KEY_FILE must be set, because TLS_CERT_FILE is set: the path/,
      { TLS_KEY_FILE: '' },
      () => undefined,
    ],
    ['a file does not exist', /tls\.crt cannot be read/, { TLS_CERT_FILE: 'no-tls.crt' }, () => undefined],
    [
      'the key belongs to another certificate',
      /must be a certificate and its private key/,
      {},
      () => install('second.key', 'tls.key'),
    ],
    [
      'the key file is not a key',
      /must be a certificate and its private key/,
      {},
      () => install('first.crt', 'tls.key'),
    ],
    ['the key is world-readable', /chmod o= tls\.key/, {}, () => install('first.key', 'tls.key', 0o644)],
  ])('end the start with status 2 and one line when %s', async (_, complaint, variables, spoil) => {
    install('first.crt', 'tls.crt');
    install('first.key', 'tls.key');
    spoil();

    const failed = launch(variables);

    expect(await failed.ended).toBe(2);
    expect(failed.stderr).toMatch(complaint);
    expect(failed.stderr).toMatch(/^plant-store: TLS_[A-Z]+_FILE[^\n]+\n$/);
  });

  const WARNING = 'Tokens travel in clear text';

  it.each<[string, boolean, Record<string, string>]>([
    ['on all addresses', true, { HOST: '0.0.0.0' }],
    ['behind a proxy', false, { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.0/8' }],
    ['on loopback', false, {}],
  ])('unset, with the service %s, cause a warning: %s', async (_, warned, variables) => {
    const clear = launch({ TLS_CERT_FILE: '', TLS_KEY_FILE: '', ...variables });
    await clear.listening();
    await clear.stop();

    expect(clear.stdout.includes(WARNING)).toBe(warned);
  });
});
