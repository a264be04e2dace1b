import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { MONSTERA, TOKEN } from '../support/client.js';
import { occupyPort } from '../support/ports.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('A service that cannot start', () => {
  it('ends with status 1 and one line when its host has no address', async () => {
    expect(await directory.failedStart({ ...WITH_TOKEN, HOST: 'plants.invalid' })).toEqual({
      status: 1,
      complaint: expect.stringMatching(
        /^plant-store: HOST and PORT: cannot listen on plants\.invalid:0 \((?:ENOTFOUND|EAI_AGAIN)\): [^\n]+\n$/,
      ) as unknown,
    });
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])(
    'ends with status 1 and one line when another process listens on its %s',
    async (name) => {
      const taken = await occupyPort();

      const { status, complaint } = await directory.failedStart({ ...WITH_TOKEN, [name]: `${taken.port}` });
      taken.free();

      expect(complaint).toMatch(
        new RegExp(`^plant-store: [^\n]*${name}: [^\n]*127\\.0\\.0\\.1:${taken.port}[^\n]*\n$`),
      );
      expect(status).toBe(1);
    },
  );

  it('ends with status 1 and the stack of a defect', async () => {
    const code = `
      import { Server } from 'node:net';
      Server.prototype.listen = function () { process.nextTick(() => this.emit('error', new RangeError('a defect'))) };`;

    const { status, complaint } = await directory.failedStart({
      ...WITH_TOKEN,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
    });

    expect(complaint).toMatch(/^plant-store: RangeError: a defect\n +at /);
    expect(status).toBe(1);
  });

  it('ends with status 1 and one line when its first token cannot be written', async () => {
    mkdirSync(directory.file('data/tokens.d'), { recursive: true });
    symlinkSync('tokens.d/nowhere/tokens', directory.file('data/tokens'));

    expect(await directory.failedStart()).toEqual({ status: 1, complaint: expect.stringMatching(/tokens/) as unknown });
  });

  it('does not change a database file of another program', async () => {
    const text = 'Monstera, indoor\n'.repeat(99);
    const file = directory.write('plants', text);

    expect(await directory.failedStart({ DATABASE_URL: 'sqlite:plants' })).toEqual({
      status: 1,
      complaint: expect.stringMatching(/^plant-store: [^\n]+plants is not a SQLite database[^\n]+\n$/) as unknown,
    });

    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(directory.path)).toEqual(['plants']);
  });
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('lets a request in flight finish before it ends the service with status 0', async () => {
    const { service, url } = await directory.start();
    const idle = await open(url);
    idle.write(`GET /elsewhere HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
    await once(idle, 'data');
    const client = await open(url);
    const body = JSON.stringify(MONSTERA);
    client.write(
      `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    // With 100 Continue, the service has accepted the request.
    await once(client, 'data');

    service.signal(signal);
    // The service is shutting down once it has closed the idle connection.
    await once(idle, 'close');
    let answer = '';
    client.setEncoding('utf8').on('data', (text: string) => (answer += text));
    client.write(body);
    await once(client, 'close');

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\n\r\n\{"name":"Monstera"\}$/);
    expect(await service.ended).toBe(0);
    expect(directory.names()).toEqual(['Monstera']);
  });

  async function open(url: string): Promise<Socket> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return socket;
  }
});
