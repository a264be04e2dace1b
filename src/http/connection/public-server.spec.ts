import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import { readPem } from '../../../test/support/certificates.js';
import type { PublicHandler } from './client-connection.js';
import { PublicServer } from './public-server.js';
import { DEFAULT_LIMITS, type ServerLimits } from '../server-limits.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

const answer: PublicHandler = (_request, response) => response.answer({ status: 200, body: {}, headers: {} });

function createServer(limits?: Partial<ServerLimits>, handle = answer, certificate?: SecureContextOptions) {
  const server = new PublicServer({ ...DEFAULT_LIMITS, ...limits }, certificate);
  return { node: server.createNodeServer(handle), drain: () => server.drain() };
}

describe('The server of the public port', () => {
  it('has the limits of the guide', () => {
    const { node } = createServer();

    expect(node.headersTimeout).toBe(10_000);
    expect(node.keepAliveTimeout).toBe(72_000);
    expect(DEFAULT_LIMITS.request).toBe(30_000);
    expect(DEFAULT_LIMITS.connections).toBe(2_000);
  });

  it('waits for the headers for no longer than for the request', () => {
    const { node } = createServer({ request: 3_000, keepAlive: 1_000 });

    expect([node.headersTimeout, node.keepAliveTimeout]).toEqual([3_000, 1_000]);
  });

  // Other systems have only one address of loopback.
  (process.platform === 'linux' ? it : it.skip)('answers two TLS clients of one port at two addresses', async () => {
    const cert = Buffer.from(readPem('first.crt'));
    const key = Buffer.from(readPem('first.key'));
    // No room for a handshake that keeps its place.
    const { node } = createServer({ connections: 2 }, answer, { cert, key, minVersion: 'TLSv1.2' });
    await once(node.listen(0, '0.0.0.0'), 'listening');
    const { port } = node.address() as AddressInfo;
    const sockets: Socket[] = [];
    for (const host of ['127.0.0.1', '127.0.0.2']) {
      const localPort = sockets[0]?.localPort ?? 0;
      const socket = connect({ host, port, localAddress: '127.0.0.1', localPort });
      await once(socket, 'connect');
      sockets.push(socket);
    }

    const secured = sockets.map((socket) => connectTls({ socket, ca: cert, checkServerIdentity: () => undefined }));
    await Promise.all(secured.map((socket) => once(socket, 'secureConnect')));
    for (const socket of secured) {
      socket.write(REQUEST);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    }
    node.close();
  });

  it('closes no connection for a new one while it drains', async () => {
    const length = 20_000_000;
    const server = createServer({ connections: 1 }, (_request, response) => {
      response.answer({ status: 200, body: { text: 'x'.repeat(length) }, headers: {} });
    });
    await once(server.node.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.node.address() as AddressInfo;
    const client = connect(port, '127.0.0.1');
    client.write(REQUEST);
    await once(server.node, 'request');

    const drained = server.drain();
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    const further = connect(port, '127.0.0.1');
    await once(further, 'close');

    expect(await text(client)).toMatch(/x"\}$/);
    await drained;
    server.node.close();
  });

  it('logs what a handler throws, and closes its connection alone', async () => {
    const errors: unknown[] = [];
    Logger.overrideLogger({ log: () => undefined, warn: () => undefined, error: (line: unknown) => errors.push(line) });
    const { node } = createServer({}, (request, response) => {
      if (request.url === '/defect') throw new Error('a defect');
      answer(request, response);
    });
    await once(node.listen(0, '127.0.0.1'), 'listening');
    const { port } = node.address() as AddressInfo;

    const received: string[] = [];
    for (const request of [REQUEST.replace('/', '/defect'), REQUEST]) {
      const socket = connect(port, '127.0.0.1');
      socket.write(request);
      received.push(await text(socket));
    }

    expect(received).toEqual(['', expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n/)]);
    expect(errors).toEqual([expect.stringMatching(/^The request [\da-f-]{36} failed: a defect$/)]);
    node.close();
  });
});
