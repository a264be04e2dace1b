import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

interface HeldPort {
  readonly port: number;
  free(): void;
}

/** Listens on a free port until `free` is called. */
export async function occupyPort(): Promise<HeldPort> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, free: () => server.close() };
}

/**
 * Returns a port for a process that must know it before it listens. Listening on the odd port behind it keeps it from
 * other runs of the tests until `free` is called, and the system gives none below 32,768 to those who ask for any port.
 */
export function reservePort(): HeldPort {
  for (;;) {
    const port = 2 * randomInt(5_000, 16_384);
    const holder = listen(port + 1);
    const trial = listen(port);
    const isFree = holder.listening && trial.listening;
    trial.close();
    if (isFree) return { port, free: () => holder.close() };
    holder.close();
  }
}

/** Listens on all addresses, at once; without a free port it does not. */
function listen(port: number): Server {
  const server = createServer().on('error', () => undefined);
  // The port ends with the process at the latest.
  return server.listen(port).unref();
}
