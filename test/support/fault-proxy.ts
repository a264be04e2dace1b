import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What the proxy does to the next statements that insert plants, or to every connection. */
export type Fault =
  | 'none'
  /** Nobody listens: connections end at once. */
  | 'refuse'
  /** Connections are accepted, and nothing ever comes. */
  | 'hang'
  /** The server does what it is told, and the connection ends before its answer has passed. */
  | 'cut'
  /** The server is not asked: this SQLSTATE is the answer. */
  | { readonly sqlState: string; readonly times: number };

const INSERT = Buffer.from('INSERT INTO plants');

/** ReadyForQuery outside a transaction: the end of what the server says to a statement, and so after its commit. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** A TCP proxy in front of a PostgreSQL server, which does damage on demand. */
export class FaultProxy {
  fault: Fault = 'none';
  /** How many statements a fault has hit. */
  hits = 0;
  /** All that clients have sent. */
  sent = '';
  #refused: () => void = () => undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** @param upstream the file of a server's socket; it may change */
  private constructor(public upstream: string) {
    this.#server = createServer((client) => this.#serve(client));
  }

  static async start(upstream: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** The URL of a database, through the proxy. */
  url(database: string): string {
    const url = new URL(database);
    url.search = '';
    url.hostname = '127.0.0.1';
    url.port = `${(this.#server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** Ends every connection, and has a fault for those that come. */
  cutAll(fault: Fault): void {
    this.fault = fault;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Calls back when a connection is refused. */
  onRefusal(refused: () => void): void {
    this.#refused = refused;
  }

  close(): void {
    this.cutAll('refuse');
    this.#server.close();
  }

  #serve(client: Socket): void {
    this.#keep(client);
    if (this.fault === 'refuse') {
      client.destroy();
      this.#refused();
      return;
    }
    const server = this.#keep(connect(this.upstream));
    let cutting = false;
    client.on('data', (chunk) => {
      this.sent += chunk.toString('latin1');
      if (this.fault === 'hang') return;
      if (chunk.includes(INSERT)) {
        if (typeof this.fault === 'object') {
          this.hits += 1;
          const { sqlState, times } = this.fault;
          this.fault = times > 1 ? { sqlState, times: times - 1 } : 'none';
          client.write(errorResponse(sqlState));
          return;
        }
        cutting = this.fault === 'cut';
      }
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (this.fault === 'hang') return;
      if (!cutting) client.write(chunk);
      else if (chunk.includes(READY)) {
        this.hits += 1;
        client.destroy();
      }
    });
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    // What a connection suffers is the matter of those at its ends.
    return socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  }
}

/** ErrorResponse and ReadyForQuery (PostgreSQL's documentation, "Message Formats"). */
function errorResponse(sqlState: string): Buffer {
  const fields = Buffer.from(`SERROR\0VERROR\0C${sqlState}\0Mplanted by the tests\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields, READY]);
}
