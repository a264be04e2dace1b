import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A fault of the next statements that insert plants, or of every connection. */
export type Fault =
  | 'none'
  /** Connections end immediately. */
  | 'refuse'
  /** Connections are accepted, and nothing passes. */
  | 'hang'
  /** Connections open, and the statement does not pass. */
  | 'swallow'
  /** The server executes the statement, and the connection ends before the answer passes. */
  | 'cut'
  /** The proxy answers with this SQLSTATE instead of the server, or does so to comparisons with stored plants alone. */
  | { readonly sqlState: string; readonly times: number; readonly of?: 'comparisons' };

const INSERT = Buffer.from('INSERT INTO plants');

const COMPARE = Buffer.from('JOIN plants');

/** ReadyForQuery outside a transaction: the server sends it after the commit. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** A TCP proxy in front of a PostgreSQL server, which injects faults. */
export class FaultProxy {
  fault: Fault = 'none';
  /** How many statements a fault has affected. */
  hits = 0;
  /** Bytes that the server has sent. */
  passed = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** @param upstream the socket file of the server; it may change */
  private constructor(public upstream: string) {
    this.#server = createServer((client) => this.#serve(client));
  }

  static async start(upstream: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** Returns the URL of a database through the proxy. */
  url(database: string): string {
    const url = new URL(database);
    url.search = '';
    url.hostname = '127.0.0.1';
    url.port = `${(this.#server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** Ends every connection, and sets the fault of later ones. */
  cutAll(fault: Fault): void {
    this.fault = fault;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cutAll('refuse');
    this.#server.close();
  }

  #serve(client: Socket): void {
    this.#keep(client);
    if (this.fault === 'refuse') {
      client.destroy();
      return;
    }
    const server = this.#keep(connect(this.upstream));
    let cutting = false;
    client.on('data', (chunk) => {
      if (this.fault === 'hang') return;
      if (typeof this.fault === 'object') {
        const { sqlState, times, of } = this.fault;
        if (chunk.includes(of === 'comparisons' ? COMPARE : INSERT)) {
          this.hits += 1;
          this.fault = times > 1 ? { ...this.fault, times: times - 1 } : 'none';
          client.write(errorResponse(sqlState));
          return;
        }
      } else if (chunk.includes(INSERT)) {
        if (this.fault === 'swallow') return;
        cutting = this.fault === 'cut';
      }
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      this.passed += chunk.length;
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
    // Its end is passed on with the event `close`.
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
