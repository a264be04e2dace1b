import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBody } from './read-body.js';

const LIMIT = 100_000;

let server: Server;
let port: number;

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Begins a request and returns both ends of it. */
async function begin(headers: Record<string, string> = {}) {
  const client = request({ port, host: '127.0.0.1', method: 'POST', headers }).on('error', () => undefined);
  client.flushHeaders();
  const [received] = (await once(server, 'request')) as [IncomingMessage];
  return { client, received };
}

async function read(received: IncomingMessage, charge = (): boolean => true): Promise<Uint8Array> {
  const length = received.headers['content-length'];
  return await readBody(received, length === undefined ? undefined : Number(length), LIMIT, charge);
}

describe('readBody', () => {
  it('reads a body that comes byte by byte', async () => {
    const { client, received } = await begin();
    const body = read(received);
    const text = 'a body of many chunks '.repeat(200);
    for (const byte of text) client.write(byte);
    client.end();

    expect(Buffer.from(await body).toString()).toBe(text);
  });

  it('reads a body that has arrived before, in several chunks', async () => {
    const { client, received } = await begin({ 'content-length': '10' });
    client.write('first');
    while (received.readableLength < 5) await new Promise(setImmediate);
    client.end('other');
    while (!received.complete) await new Promise(setImmediate);

    expect(Buffer.from(await read(received)).toString()).toBe('firstother');
  });

  it('refuses a longer body at once and discards the rest', async () => {
    const { client, received } = await begin();
    const body = read(received);
    client.write('n'.repeat(LIMIT + 1));

    await expect(body).rejects.toMatchObject({ error: 413 });
    client.end('n'.repeat(LIMIT));
    await once(received, 'end');
  });

  it('refuses a body that the client does not complete', async () => {
    const { client, received } = await begin();
    const body = read(received);
    client.write('a');
    client.destroy();

    await expect(body).rejects.toMatchObject({ error: 400 });
    await expect(read(received)).rejects.toMatchObject({ error: 400 });
  });

  it('refuses a body for which there is no room', async () => {
    const { client, received } = await begin();
    const body = read(received, () => false);
    client.write('a');

    await expect(body).rejects.toMatchObject({ error: 503 });
  });
});
