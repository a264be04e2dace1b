import { once } from 'node:events';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { message } from './http-messages.js';
import { inTime, until } from './until.js';

/** A connection, and everything that has come on it. */
export class Client {
  received = '';
  readonly #closed: Promise<void>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    // A reset does not matter to the tests, which look at what came before it.
    socket.on('error', () => undefined);
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  static async open(url: string, options: Partial<TcpNetConnectOpts> = {}): Promise<Client> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), ...options });
    await once(socket, 'connect');
    return new Client(socket);
  }

  /** Resolves when the connection is closed. */
  get closed(): Promise<void> {
    return inTime(this.#closed, () => `the connection is closed, which has ${this.#beginning}`);
  }

  /** The status 200 or the error number of each answer, in order. */
  get answers(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (?:(200)|400) [^]*?\r\n\r\n\{(?:"error":(\d+))?/g)].map(
      ([, ok, error]) => Number(ok ?? error),
    );
  }

  /** Waits until this many answers have come. */
  answered(count: number): Promise<void> {
    return this.#until(`${count} answers have come`, () => this.answers.length >= count);
  }

  /** Waits until this text has come. */
  receives(text: string): Promise<void> {
    return this.#until(`${text} has come`, () => this.received.includes(text));
  }

  /** @throws {Error} if the condition does not hold when the connection ends, or not in time */
  async #until(what: string, hasCome: () => boolean): Promise<void> {
    await until(what, () => hasCome() || this.socket.closed);
    if (!hasCome()) throw new Error(`The connection has ended before ${what}: ${this.#beginning}`);
  }

  get #beginning(): string {
    return JSON.stringify(this.received.slice(0, 2_000));
  }
}

/** The head of a request with a body of 25 bytes, which the client sends once the service asks for it. */
export const HEAD = message({ framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' });

/** Returns a request that creates a plant, whose name has this many characters. */
export function creation(id: number, size = 0): string {
  return message({ body: JSON.stringify({ id, name: 'n'.repeat(size) }) });
}

/** Opens a connection with the head of a request, for whose body of 25 bytes the service waits. */
export async function openRequest(url: string): Promise<Client> {
  const client = await Client.open(url);
  client.socket.write(HEAD);
  await client.receives('100 Continue');
  return client;
}

/** Waits until the service refuses connections. */
export function refusesConnections(url: string): Promise<void> {
  return until('connections are refused', async () => {
    const client = await Client.open(url).catch(() => undefined);
    client?.socket.destroy();
    return client === undefined;
  });
}
