import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect as connectPlainly } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { readCertificate } from '../../src/http/certificate.js';
import { type Service, startService, TOKEN } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

/** Puts a file of the tests' certificates where a service may take it. */
function install(source: string, target: string, mode = 0o600): string {
  const file = join(directory, target);
  copyFileSync(join(CERTIFICATES, source), file);
  chmodSync(file, mode);
  return file;
}

function plant(id: number, headers = ''): string {
  const body = `{"id":${id},"name":"Plant ${id}"}`;
  return (
    `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n${headers}` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

const LAST = 'Connection: close\r\n';

/** All that comes on a connection, up to its end. */
async function heard(socket: TLSSocket | ReturnType<typeof connectPlainly>): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  await once(socket, 'end');
  return text;
}

async function open(port: number, certificate = 'first'): Promise<TLSSocket> {
  const ca = readFileSync(join(CERTIFICATES, `${certificate}.crt`));
  const socket = connect({ port, host: '127.0.0.1', ca });
  await once(socket, 'secureConnect');
  return socket;
}

describe('A service with a certificate', () => {
  let service: Service;

  beforeEach(async () => {
    const certificate = readCertificate(install('first.crt', 'tls.crt'), install('first.key', 'tls.key'));
    service = await startService({ certificate, limits: { headers: 500, connections: 2 } });
  });

  afterEach(() => service.close());

  it('takes one plant after another on a connection', async () => {
    const socket = await open(service.port);
    socket.write(plant(1) + plant(2));
    socket.write(plant(3, LAST));

    expect((await heard(socket)).match(/\{"name":"Plant \d"\}/g)).toEqual(
      [1, 2, 3].map((id) => `{"name":"Plant ${id}"}`),
    );
    socket.destroy();
    expect(await service.rows()).toHaveLength(3);
  });

  it('answers a client that has said that it sends no more', async () => {
    const socket = await open(service.port);
    socket.end(plant(1));

    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\{"name":"Plant 1"\}$/);
  });

  it.each([
    ['what is no HTTP', 'garbage\r\n\r\n', 400],
    ['headers that are too large', `POST / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['a URL that is too long', `POST /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 414],
    ['half a request', 'POST /plants HTTP/1.1\r\nHost: loc', 408],
    ['a missing token', `POST /plants HTTP/1.1\r\nHost: localhost\r\n${LAST}Content-Length: 5000000\r\n\r\nx`, 401],
    ['a missing Host', 'POST /plants HTTP/1.1\r\n\r\n', 400],
  ])('answers %s as ever', async (_, text, error) => {
    const socket = await open(service.port);
    socket.write(text);

    const [head = '', body = ''] = (await heard(socket)).split('\r\n\r\n');
    socket.destroy();
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).toMatchObject({ error });
  });

  it('answers a good request and the garbage after it in order', async () => {
    const socket = await open(service.port);
    socket.write(`${plant(1)}garbage\r\n\r\n`);

    const answers = await heard(socket);
    socket.destroy();
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  it('refuses with 503 those who are too many', async () => {
    const sockets = [await open(service.port), await open(service.port)];
    const oneMore = await open(service.port);

    expect(await heard(oneMore)).toMatch(/"error":503/);
    for (const socket of [...sockets, oneMore]) socket.destroy();
  });

  it.each([
    ['a plant', plant(1)],
    ['another method', 'DELETE /plants HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['garbage', 'garbage\r\n\r\n'],
  ])('tells a client that sends %s without TLS that it should', async (_, text) => {
    const socket = connectPlainly(service.port, '127.0.0.1');
    socket.write(text);

    const [head = '', body = ''] = (await heard(socket)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).toEqual({
      error: 400,
      message: 'This port accepts only HTTPS: send the same request to https://.',
    });
    expect(await service.rows()).toEqual([]);
  });

  it('lets go of those who never begin with TLS, in time', async () => {
    const socket = connectPlainly(service.port, '127.0.0.1').resume();
    socket.on('error', () => undefined);

    await once(socket, 'close');
  });

  it('takes no TLS before 1.2', async () => {
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
  let service: ServiceProcess | undefined;

  afterEach(() => service?.stop('SIGKILL'));

  function launch(variables: Record<string, string> = {}): ServiceProcess {
    service = new ServiceProcess(directory, {
      ACCESS_TOKENS: TOKEN,
      TLS_CERT_FILE: 'tls.crt',
      TLS_KEY_FILE: 'tls.key',
      ...variables,
    });
    return service;
  }

  it('are taken again when they change, and connections last', async () => {
    install('first.crt', 'tls.crt');
    install('first.key', 'tls.key');
    const url = await launch().listening();
    expect(url).toMatch(/^https:/);
    const port = Number(new URL(url).port);
    const early = await open(port);

    install('second.crt', 'tls.crt');
    await service?.printed(/(tls\.crt and tls\.key must be a certificate and its private key, both PEM; keeping)/);
    const between = await open(port);
    install('second.key', 'tls.key');
    await service?.printed(/(The certificate has changed: the new one is valid until 2\d{3}-)/);

    const late = await open(port, 'second');
    for (const [index, socket] of [early, between, late].entries()) {
      socket.write(plant(index, LAST));
      expect(await heard(socket)).toContain(`{"name":"Plant ${index}"}`);
      socket.destroy();
    }
    expect(await service?.stop()).toBe(0);
  });

  it('do not keep a service from stopping while clients are connected', async () => {
    install('first.crt', 'tls.crt');
    install('first.key', 'tls.key');
    const url = await launch().listening();
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
    expect(await service?.stop()).toBe(0);
    expect(performance.now() - before).toBeLessThan(8_000);
    idle.destroy();
    agent.destroy();
  });

  it.each<[string, RegExp, Record<string, string>, () => unknown]>([
    ['only one is there', /TLS_CERT_FILE and TLS_KEY_FILE must be set together/, { TLS_KEY_FILE: '' }, () => undefined],
    ['there is no such file', /tls\.crt cannot be read/, { TLS_CERT_FILE: 'no-tls.crt' }, () => undefined],
    [
      'the key is of another certificate',
      /must be a certificate and its private key/,
      {},
      () => install('second.key', 'tls.key'),
    ],
    ['the key is none', /must be a certificate and its private key/, {}, () => install('first.crt', 'tls.key')],
    ['everybody may read the key', /chmod o= tls\.key/, {}, () => install('first.key', 'tls.key', 0o644)],
  ])('end the start with status 2 and one line where %s', async (_, complaint, variables, spoil) => {
    install('first.crt', 'tls.crt');
    install('first.key', 'tls.key');
    spoil();

    const failed = launch(variables);

    expect(await failed.ended).toBe(2);
    expect(failed.stderr).toMatch(complaint);
    expect(failed.stderr).toMatch(/^plant-store: TLS_CERT_FILE [^\n]+\n$/);
  });

  const WARNING = 'Tokens travel in clear text';

  it.each<[string, boolean, Record<string, string>]>([
    ['another address', true, { HOST: '0.0.0.0' }],
    ['another address, for a proxy', false, { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.0/8' }],
    ['this machine alone', false, {}],
  ])('are missed where a service listens to %s: %s', async (_, warned, variables) => {
    const clear = launch({ TLS_CERT_FILE: '', TLS_KEY_FILE: '', ...variables });
    await clear.listening();
    await clear.stop();

    expect(clear.stdout.includes(WARNING)).toBe(warned);
  });
});
