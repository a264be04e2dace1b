import { once } from 'node:events';
import { connect, type Socket, type TcpSocketConnectOpts } from 'node:net';
import { message } from './http-messages.js';
import { until } from './until.js';

/** A connection, and everything that has come on it. */
export class Client {
  received = '';
  readonly closed: Promise<unknown>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    // A reset does not matter to the tests, which look at what came before it.
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', resolve));
  }

  static async open(url: string, options: Partial<TcpSocketConnectOpts> = {}): Promise<Client> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), ...options });
    await once(socket, 'connect');
    return new Client(socket);
  }

  /** The status 200 or the error number of each answer, in order. */
  get answers(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (?:(200)|400) [^]*?\r\n\r\n\{(?:"error":(\d+))?/g)].map(
      ([, ok, error]) => Number(ok ?? error),
    );
  }

  async answered(count: number): Promise<void> {
    while (this.answers.length < count) await once(this.socket, 'data');
  }
}

/** Returns a request that creates a plant, whose name has this many characters. */
export function creation(id: number, size = 0): string {
  return message({ body: JSON.stringify({ id, name: 'n'.repeat(size) }) });
}

/** Waits until the service refuses connections. */
export function refusesConnections(url: string): Promise<void> {
  return until('connections are refused', async () => {
    const client = await Client.open(url).catch(() => undefined);
    client?.socket.destroy();
    return client === undefined;
  });
}
