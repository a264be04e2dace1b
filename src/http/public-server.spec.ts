import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePort } from '../../test/support/ports.js';
import { PublicServer } from './public-server.js';
import { DEFAULT_LIMITS, type ServerLimits } from './server-limits.js';

function createServer(limits?: Partial<ServerLimits>): PublicServer {
  return new PublicServer((_request, response) => response.answer(200, {}, {}), { ...DEFAULT_LIMITS, ...limits });
}

describe('The server of the public port', () => {
  it('has the limits of the guide', () => {
    const { node } = createServer();

    expect(node.headersTimeout).toBe(10_000);
    expect(node.requestTimeout).toBe(30_000);
    expect(node.keepAliveTimeout).toBe(72_000);
    expect(DEFAULT_LIMITS.connections).toBe(2_000);
  });

  it('waits for the headers for no longer than for the request', () => {
    const { node } = createServer({ request: 3_000, keepAlive: 1_000 });

    expect([node.headersTimeout, node.requestTimeout, node.keepAliveTimeout]).toEqual([3_000, 3_000, 1_000]);
  });

  // Other systems have only one address of loopback.
  (process.platform === 'linux' ? it : it.skip)('answers two connections of one port to two addresses', async () => {
    const { node } = createServer();
    await once(node.listen(0, '0.0.0.0'), 'listening');
    const { port } = node.address() as AddressInfo;
    const localPort = freePort();
    const sockets: Socket[] = [];
    for (const host of ['127.0.0.1', '127.0.0.2']) {
      const socket = connect({ host, port, localAddress: '127.0.0.1', localPort });
      await once(socket, 'connect');
      sockets.push(socket);
    }

    for (const socket of sockets) {
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    }
    node.close();
  });
});
