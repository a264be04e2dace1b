import { Connections } from './connections.js';
import { createPublicServer } from './public-server.js';

describe('The server of the public port', () => {
  it.each([
    [30_000, 10_000],
    [500, 500],
  ])('has, for requests that may take %d ms, %d ms for their headers', (request, headers) => {
    const limits = { request, keepAlive: 72_000, connections: 2_000 };
    const server = createPublicServer(() => undefined, new Connections(), limits, undefined);

    expect([server.headersTimeout, server.requestTimeout]).toEqual([headers, request]);
  });
});
