import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ContractException } from '../../contract/contract.exception.js';
import { ClientConnection, type PublicHandler } from './client-connection.js';
import { MAX_HEADERS } from '../message/message-rules.js';
import type { ParserError } from './parser-error.js';
import { Places } from './places.js';
import { PublicRequest } from '../message/public-request.js';
import { PublicResponse } from '../message/public-response.js';
import type { ServerLimits } from '../server-limits.js';
import { TlsHandshakes } from './tls-handshakes.js';

/** Bytes of the URL, the names and the values of the headers together, from which a request is refused. */
const MAX_HEAD = 16_384;

type NodeServer = Server<typeof PublicRequest, typeof PublicResponse>;

type State = 'open' | 'draining' | 'finishing';

/**
 * The connections of the clients, which get the input of Node's HTTP or HTTPS server.
 *
 * | state     | new connections | after an answer, a connection | next state                                     |
 * |-----------|-----------------|-------------------------------|------------------------------------------------|
 * | open      | get a place     | may go on                     | draining: `drain`, when the service stops      |
 * | draining  | get a place     | closes                        | finishing, when Node has read what has arrived |
 * | finishing | are closed      | closes                        | none                                           |
 *
 * While the server finishes, new connections would take the places of clients that read their last answers. Node's server
 * still listens then: Fastify closes it after `drain`.
 */
export class PublicServer {
  #state: State = 'open';
  readonly #clients = new Map<Socket, ClientConnection>();
  readonly #places: Places;
  readonly #handshakes: TlsHandshakes;

  /** @param certificate makes it an HTTPS server */
  constructor(
    private readonly limits: ServerLimits,
    private readonly certificate?: SecureContextOptions,
  ) {
    this.#places = new Places(limits.connections);
    this.#handshakes = new TlsHandshakes(this.#places);
  }

  /** Creates Node's server, whose requests the handler answers. */
  createNodeServer(handler: PublicHandler): NodeServer {
    const node = this.#createServer((socket) => this.#open(socket, handler));
    // Node's documentation lacks this property, without which a client that half-closes (nc -N) gets no answer.
    Object.assign(node, { httpAllowHalfOpen: true });
    // Node silently drops further headers. One more than allowed shows that there were too many.
    node.maxHeadersCount = MAX_HEADERS + 1;
    const accept = (request: PublicRequest, response: PublicResponse): void => {
      this.#clients.get(request.socket)?.acceptRequest(response);
    };
    node.on('request', accept);
    node.on('checkExpectation', accept);
    node.on('checkContinue', (request, response) => {
      response.awaitsContinue = true;
      accept(request, response);
    });
    node.on('connect', ({ socket }) => this.#clients.get(socket)?.refuseLatest(new ContractException(400)));
    // Errors of TLS handshakes cause this event, too: their sockets belong to no client.
    node.on('clientError', (error: ParserError, socket) => this.#clients.get(socket as Socket)?.acceptError(error));
    return node;
  }

  /** True if each connection closes after its answer in progress. */
  get isDraining(): boolean {
    return this.#state !== 'open';
  }

  /** Closes each connection after its answer in progress; Node's own `close` would cut off answers. */
  async drain(): Promise<void> {
    this.#state = 'draining';
    await inputIsRead();
    this.#state = 'finishing';
    const closings = [...this.#clients.values()].map(async (client) => {
      await client.answerTaken();
      // An idle connection has delivered its answers, and no whole head has arrived since. The others close after their answer,
      // because `isDraining` is true.
      if (client.isIdle) client.socket.destroy();
    });
    await Promise.all(closings);
    this.#handshakes.closeAll();
  }

  /** @param open called with each connection, after its TLS handshake */
  #createServer(open: (socket: Socket) => void): NodeServer {
    const { certificate } = this;
    const { headers, request, keepAlive: keepAliveTimeout } = this.limits;
    const headersTimeout = Math.min(headers, request);
    const options: ServerOptions<typeof PublicRequest, typeof PublicResponse> = {
      IncomingMessage: PublicRequest,
      ServerResponse: PublicResponse,
      maxHeaderSize: MAX_HEAD,
      headersTimeout,
      // ClientConnection times bodies: this clock would also run while the service does not read.
      requestTimeout: 0,
      keepAliveTimeout,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
      // message-rules.ts checks the header: Node's refusal would not be that of the contract.
      requireHostHeader: false,
      // Joins two Authorization or Host headers into an invalid one; Node would drop the second.
      joinDuplicateHeaders: true,
    };
    if (certificate === undefined) return createServer(options).on('connection', open);
    return createTlsServer({ ...options, ...certificate, handshakeTimeout: headersTimeout, allowHalfOpen: true })
      .on('connection', (socket) => this.#beginHandshake(socket as Socket))
      .on('tlsClientError', (_error, socket) => socket.destroy())
      .on('secureConnection', (socket) => {
        this.#handshakes.complete(socket);
        open(socket);
      });
  }

  #beginHandshake(socket: Socket): void {
    if (this.#state === 'finishing') socket.destroy();
    else this.#handshakes.begin(socket);
  }

  #open(socket: Socket, handler: PublicHandler): void {
    if (this.#state === 'finishing') return void socket.destroy();
    const client = new ClientConnection(socket, handler, this.limits.request, this);
    const hasRoom = this.#places.makeRoom();
    this.#places.take(client);
    this.#clients.set(socket, client);
    socket.once('close', () => this.#clients.delete(socket));
    if (!hasRoom) client.refuseLatest(new ContractException(503));
  }
}

/** Resolves when Node has read what the operating system has received: after a whole turn of the event loop. */
async function inputIsRead(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
