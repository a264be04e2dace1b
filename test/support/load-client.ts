import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { TOKEN } from './client.js';

/** A connection, and everything that has come on it. */
export class Client {
  received = '';
  readonly closed: Promise<unknown>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    this.closed = once(socket, 'close');
  }

  static async open(url: string): Promise<Client> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
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
  const body = JSON.stringify({ id, name: 'n'.repeat(size) });
  return (
    `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}
