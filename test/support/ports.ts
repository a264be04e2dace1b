import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Listens on a free port until `free` is called. */
export async function occupyPort(): Promise<{ readonly port: number; free(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, free: () => server.close() };
}
