import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Listens on a free port until `free` is called. */
export async function occupyPort(): Promise<{ readonly port: number; free(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, free: () => server.close() };
}

/** Returns a port that is free, and that the system gives to none who asks for any port. */
export function freePort(): number {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = createServer()
      .on('error', () => undefined)
      .listen(port);
    const isFree = server.listening;
    server.close();
    if (isFree) return port;
  }
}
