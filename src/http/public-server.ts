import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ContractException } from '../contract/contract.exception.js';
import type { Certificate } from './certificate.js';
import { ClientConnection, type PublicHandler } from './client-connection.js';
import { allowOrigin, answerPreflight, isPreflight } from './cross-origin.js';
import { findViolation } from './message-rules.js';
import type { ParserError } from './parser-error.js';
import { PublicRequest } from './public-request.js';
import { PublicResponse } from './public-response.js';
import type { ServerLimits } from './server-limits.js';

/** Bytes of the URL and of the names and values of the headers together, at which a request is refused. */
const MAX_HEAD = 16_384;

/** Headers of a request: each occupies hundreds of bytes, however short it is. */
const MAX_HEADERS = 256;

/** Connections beyond the limit that may read that there is no room for them. */
const MAX_REFUSED = 500;

type NodeServer = Server<typeof PublicRequest, typeof PublicResponse>;

/** Gives every input on the port of Node's HTTP or HTTPS server one answer of the contract, in order. */
export class PublicServer {
  readonly node: NodeServer;
  /** TLS handshakes included. */
  readonly #connections = new Map<Socket, ClientConnection>();
  /** The socket below TLS, by peer: TLS sockets do not reveal it. */
  readonly #handshakes = new Map<string, Socket>();
  #isDraining = false;

  /**
   * @param options.origins the origins whose pages may send requests, see {@link allowOrigin}
   * @param options.certificate makes it an HTTPS server
   */
  constructor(
    private readonly handle: PublicHandler,
    private readonly limits: ServerLimits,
    private readonly options: {
      readonly origins?: ReadonlySet<string>;
      readonly certificate?: Certificate | undefined;
    },
  ) {
    this.node = this.#createServer();
    // In Node's source, but not in its documentation: without it, a client that half-closes (nc -N) gets no answer.
    Object.assign(this.node, { httpAllowHalfOpen: true });
    // Node drops further headers without a word. One more than allowed shows that there were too many.
    this.node.maxHeadersCount = MAX_HEADERS + 1;
    this.node.maxConnections = limits.connections + MAX_REFUSED;
    const accept = (request: PublicRequest, response: PublicResponse): void => {
      this.#connections.get(request.socket)?.accept(response);
    };
    this.node.on('request', accept);
    this.node.on('checkExpectation', accept);
    this.node.on('checkContinue', (request, response) => {
      // Asks the client for the body when something begins to read it.
      request.once('resume', () => response.headersSent || response.writeContinue());
      accept(request, response);
    });
    this.node.on('connect', ({ socket }) => this.#connections.get(socket)?.refuse(new ContractException(400)));
    // Errors of a TLS handshake come here, too.
    this.node.on('clientError', (error: ParserError, socket) => this.#connections.get(socket as Socket)?.fail(error));
  }

  /** Closes each connection after its request in progress; Node's own `close` would destroy those that send an answer. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const connection of this.#connections.values()) connection.isDraining = true;
    // Node reads what the operating system has received before the second of these.
    await setImmediate();
    await setImmediate();
    const connections = [...this.#connections.values()];
    for (const { isIdle, socket } of connections) if (isIdle) socket.destroy();
    await Promise.all(connections.map((connection) => connection.taken()));
  }

  #createServer(): NodeServer {
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
    const { certificate } = this.options;
    if (certificate === undefined) return createServer(options).on('connection', (socket) => this.#open(socket));
    return createTlsServer({ ...options, ...certificate, handshakeTimeout: headersTimeout, allowHalfOpen: true })
      .on('connection', (socket) => this.#shakeHands(socket as Socket))
      .on('tlsClientError', (_error, socket) => socket.destroy())
      .on('secureConnection', (socket) => {
        this.#endHandshake(socket);
        this.#open(socket);
      });
  }

  #connect(socket: Socket): ClientConnection {
    return new ClientConnection(socket, (...exchange) => this.#answer(...exchange), this.limits.request);
  }

  /** Counts a TLS handshake as a connection until the connection that it secures takes its place. */
  #shakeHands(socket: Socket): void {
    const peer = peerOf(socket);
    this.#add(this.#connect(socket));
    this.#handshakes.set(peer, socket);
    socket.once('close', () => this.#handshakes.get(peer) === socket && this.#handshakes.delete(peer));
  }

  #endHandshake(socket: Socket): void {
    const below = this.#handshakes.get(peerOf(socket));
    if (below !== undefined) this.#connections.delete(below);
  }

  #open(socket: Socket): void {
    const connection = this.#connect(socket);
    if (!this.#add(connection)) connection.refuse(new ContractException(503));
  }

  /** Returns false if there is no room because all connections are in use. */
  #add(connection: ClientConnection): boolean {
    const { socket } = connection;
    if (this.#connections.size >= this.limits.connections && !this.#closeLongestWaiting()) return false;
    this.#connections.set(socket, connection);
    connection.isDraining = this.#isDraining;
    socket.once('close', () => this.#connections.delete(socket));
    return true;
  }

  /** Closes the connection that has waited for its client the longest, first those that never had a 200. */
  #closeLongestWaiting(): boolean {
    let longest: ClientConnection | undefined;
    for (const connection of this.#connections.values()) if (connection.waitsLongerThan(longest)) longest = connection;
    if (longest === undefined) return false;
    this.#connections.delete(longest.socket);
    longest.socket.destroy();
    return true;
  }

  #answer(request: PublicRequest, response: PublicResponse): void {
    const { origin } = request.headers;
    const isAllowed = origin !== undefined && this.options.origins?.has(origin) === true;
    if (isAllowed) allowOrigin(response, origin);
    const violation = findViolation(request);
    if (request.rawHeaders.length > 2 * MAX_HEADERS) {
      response.refuse(new ContractException(431, `There are more than ${MAX_HEADERS} headers: send fewer.`));
    } else if (violation !== undefined) response.refuse(new ContractException(400, violation));
    // On the next tick the parser knows whether a body follows: without one, the connection stays open.
    else if (isAllowed && isPreflight(request)) process.nextTick(answerPreflight, response);
    else this.handle(request, response);
  }
}

/** Identifies a TCP connection. */
function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
