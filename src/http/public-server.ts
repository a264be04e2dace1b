import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ContractException } from '../contract/contract.exception.js';
import type { Certificate } from './certificate.js';
import { ClientConnection, type PublicHandler } from './client-connection.js';
import { MAX_HEADERS } from './message-rules.js';
import type { ParserError } from './parser-error.js';
import { PublicRequest } from './public-request.js';
import { PublicResponse } from './public-response.js';
import type { ServerLimits } from './server-limits.js';

/** Bytes of the URL and of the names and values of the headers together, at which a request is refused. */
const MAX_HEAD = 16_384;

type NodeServer = Server<typeof PublicRequest, typeof PublicResponse>;

/** Gives every input on the port of Node's HTTP or HTTPS server to its connection. */
export class PublicServer {
  readonly node: NodeServer;
  /** True if each connection closes after its answer in progress. */
  isDraining = false;
  /** By peer, so that a TLS handshake and the connection that it secures have one place: their sockets are two. */
  readonly #connections = new Map<string, ClientConnection>();

  /** @param certificate makes it an HTTPS server */
  constructor(
    private readonly handle: PublicHandler,
    private readonly limits: ServerLimits,
    certificate?: Certificate,
  ) {
    this.node = this.#createServer(certificate);
    // In Node's source, but not in its documentation: without it, a client that half-closes (nc -N) gets no answer.
    Object.assign(this.node, { httpAllowHalfOpen: true });
    // Node drops further headers without a word. One more than allowed shows that there were too many.
    this.node.maxHeadersCount = MAX_HEADERS + 1;
    const accept = (request: PublicRequest, response: PublicResponse): void => {
      this.#connectionOf(request.socket)?.accept(response);
    };
    this.node.on('request', accept);
    this.node.on('checkExpectation', accept);
    this.node.on('checkContinue', (request, response) => {
      // Asks the client for the body when something begins to read it.
      request.once('resume', () => response.headersSent || response.writeContinue());
      accept(request, response);
    });
    this.node.on('connect', ({ socket }) => this.#connectionOf(socket)?.refuse(new ContractException(400)));
    // Errors of a TLS handshake come here, too.
    this.node.on('clientError', (error: ParserError, socket) => this.#connectionOf(socket as Socket)?.fail(error));
  }

  /** Closes each connection after its answer in progress; Node's own `close` would destroy those that send an answer. */
  async drain(): Promise<void> {
    this.isDraining = true;
    // Node reads what the operating system has received before the second of these.
    await setImmediate();
    await setImmediate();
    // Fastify closes the server only when all answers are taken.
    this.node.on('connection', (socket: Socket) => socket.destroy());
    await Promise.all([...this.#connections.values()].map((connection) => connection.taken()));
    for (const { isWaiting, socket } of this.#connections.values()) if (isWaiting) socket.destroy();
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
    // The handshake takes a place, which the socket of `secureConnection` takes over.
    return createTlsServer({ ...options, ...certificate, handshakeTimeout: headersTimeout, allowHalfOpen: true })
      .on('connection', (socket) => this.#place(socket as Socket))
      .on('tlsClientError', (_error, socket) => socket.destroy())
      .on('secureConnection', (socket) => this.#open(socket));
  }

  #connectionOf(socket: Socket): ClientConnection | undefined {
    return this.#connections.get(peerOf(socket));
  }

  /** Refuses a connection for which there is no room, because all others are in use. */
  #open(socket: Socket): void {
    const connection = this.#place(socket);
    if (this.#connections.size > this.limits.connections) connection.refuse(new ContractException(503));
  }

  /**
   * Gives a connection its place, or that of its handshake. At the limit, another one that waits loses its own: so no
   * more than one connection is beyond it.
   */
  #place(socket: Socket): ClientConnection {
    const peer = peerOf(socket);
    if (!this.#connections.has(peer) && this.#connections.size >= this.limits.connections) this.#closeLongestWaiting();
    const connection = new ClientConnection(socket, this.handle, this.limits.request, this);
    this.#connections.set(peer, connection);
    socket.once('close', () => this.#connections.get(peer) === connection && this.#connections.delete(peer));
    return connection;
  }

  /** Closes the connection that has waited the longest, unless all are in use. */
  #closeLongestWaiting(): void {
    let longest: [peer: string, connection: ClientConnection] | undefined;
    for (const entry of this.#connections) if (entry[1].waitsLongerThan(longest?.[1])) longest = entry;
    if (longest === undefined) return;
    this.#connections.delete(longest[0]);
    longest[1].socket.destroy();
  }
}

/** Identifies a TCP connection. */
function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
