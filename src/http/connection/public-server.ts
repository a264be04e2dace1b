import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ContractException } from '../../contract/contract.exception.js';
import type { Certificate } from '../certificate.js';
import { ClientConnection } from './client-connection.js';
import { MAX_HEADERS } from '../message/message-rules.js';
import { OpenConnections } from './open-connections.js';
import type { ParserError } from './parser-error.js';
import { PublicRequest } from '../message/public-request.js';
import { type PublicHandler, PublicResponse } from '../message/public-response.js';
import type { ServerLimits } from './server-limits.js';
import { type TlsHandshake, TlsHandshakes } from './tls-handshakes.js';

/** Bytes of the URL and of the names and values of the headers together, at which a request is refused. */
const MAX_HEAD = 16_384;

type NodeServer = Server<typeof PublicRequest, typeof PublicResponse>;

/** Gives every input on the port of Node's HTTP or HTTPS server to its connection. */
export class PublicServer {
  readonly node: NodeServer;
  /** True if each connection closes after its answer in progress. */
  isDraining = false;
  /**
   * True if new connections are closed at once, because they would take the places of clients that take their last answers.
   * Fastify closes the server itself only after that.
   */
  #isClosed = false;
  readonly #connections: OpenConnections<ClientConnection | TlsHandshake>;
  readonly #handshakes = new TlsHandshakes();

  /** @param certificate makes it an HTTPS server */
  constructor(
    private readonly handle: PublicHandler,
    private readonly limits: ServerLimits,
    certificate?: Certificate,
  ) {
    this.#connections = new OpenConnections(limits.connections);
    this.node = this.#createServer(certificate);
    // In Node's source, but not in its documentation: without it, a client that half-closes (nc -N) gets no answer.
    Object.assign(this.node, { httpAllowHalfOpen: true });
    // Node drops further headers without a word. One more than allowed shows that there were too many.
    this.node.maxHeadersCount = MAX_HEADERS + 1;
    const accept = (request: PublicRequest, response: PublicResponse): void => {
      this.#clientOf(request.socket)?.acceptRequest(response);
    };
    this.node.on('request', accept);
    this.node.on('checkExpectation', accept);
    this.node.on('checkContinue', (request, response) => {
      // Asks the client for the body when something begins to read it.
      request.once('resume', () => response.headersSent || response.writeContinue());
      accept(request, response);
    });
    this.node.on('connect', ({ socket }) => this.#clientOf(socket)?.refuse(new ContractException(400)));
    // Errors of TLS handshakes come here, too, with sockets that have no connection.
    this.node.on('clientError', (error: ParserError, socket) => this.#clientOf(socket as Socket)?.acceptError(error));
  }

  /** Closes each connection after its answer in progress; Node's own `close` would destroy those that send an answer. */
  async drain(): Promise<void> {
    this.isDraining = true;
    await inputIsRead();
    this.#isClosed = true;
    await Promise.all(this.#clients().map((client) => client.answerTaken()));
    // The others close after their answers.
    for (const { isWaiting, socket } of this.#clients()) if (isWaiting) socket.destroy();
    for (const { socket } of this.#handshakes.all()) socket.destroy();
  }

  #createServer(certificate: Certificate | undefined): NodeServer {
    const { headers, request: requestTimeout, keepAlive: keepAliveTimeout } = this.limits;
    const headersTimeout = Math.min(headers, requestTimeout);
    const options: ServerOptions<typeof PublicRequest, typeof PublicResponse> = {
      IncomingMessage: PublicRequest,
      ServerResponse: PublicResponse,
      maxHeaderSize: MAX_HEAD,
      headersTimeout,
      requestTimeout,
      keepAliveTimeout,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
      // Node would answer in its own words; message-rules.ts checks the header.
      requireHostHeader: false,
      // Joins two Authorization or Host headers into an invalid one; Node would drop the second.
      joinDuplicateHeaders: true,
    };
    if (certificate === undefined) return createServer(options).on('connection', (socket) => this.#open(socket));
    return createTlsServer({ ...options, ...certificate, handshakeTimeout: headersTimeout, allowHalfOpen: true })
      .on('connection', (socket) => this.#beginHandshake(socket as Socket))
      .on('tlsClientError', (_error, socket) => socket.destroy())
      .on('secureConnection', (socket) => this.#endHandshake(socket));
  }

  /** A handshake has a place of its own until the connection that it secures takes it over. */
  #beginHandshake(socket: Socket): void {
    if (this.#isClosed) return void socket.destroy();
    // Where there is no room, `#open` refuses the connection that it secures.
    this.#connections.makeRoom();
    this.#connections.add(this.#handshakes.begin(socket));
  }

  #endHandshake(secured: Socket): void {
    const handshake = this.#handshakes.end(secured);
    if (handshake !== undefined) this.#connections.remove(handshake);
    this.#open(secured);
  }

  #open(socket: Socket): void {
    if (this.#isClosed) return void socket.destroy();
    const connection = new ClientConnection(socket, this.handle, this.limits.request, this);
    const hasRoom = this.#connections.makeRoom();
    this.#connections.add(connection);
    if (!hasRoom) connection.refuse(new ContractException(503));
  }

  #clients(): ClientConnection[] {
    return [...this.#connections.all()].filter((connection) => connection instanceof ClientConnection);
  }

  #clientOf(socket: Socket): ClientConnection | undefined {
    const connection = this.#connections.of(socket);
    return connection instanceof ClientConnection ? connection : undefined;
  }
}

/** Resolves when Node has read what the operating system has received: before the second turn of the event loop. */
async function inputIsRead(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
