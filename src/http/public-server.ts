import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { ContractException } from '../contract/contract.exception.js';
import type { Certificate } from './certificate.js';
import { ClientConnection, peerOf, type PublicHandler } from './client-connection.js';
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

/** Gives every input on the port of Node's HTTP or HTTPS server one answer of the contract, in order. */
export class PublicServer {
  readonly #server: Server<typeof PublicRequest, typeof PublicResponse>;
  #handle: PublicHandler = () => undefined;
  readonly #limits: ServerLimits;
  readonly #origins: ReadonlySet<string>;
  /** By peer; those that wait for their client are in the order since when they wait, TLS handshakes included. */
  readonly #connections = new Map<string, ClientConnection>();
  #isDraining = false;

  /**
   * @param options.origins the origins whose pages may send requests, see {@link allowOrigin}; the set may change
   * @param options.certificate makes it an HTTPS server
   */
  constructor(
    limits: ServerLimits,
    options: { readonly origins?: ReadonlySet<string>; readonly certificate?: Certificate | undefined },
  ) {
    this.#limits = limits;
    this.#origins = options.origins ?? new Set();
    this.#server = this.#createServer(options.certificate);
    // In Node's source, but not in its documentation: without it, a client that half-closes (nc -N) gets no answer.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    // Node drops further headers without a word. One more than allowed shows that there were too many.
    this.#server.maxHeadersCount = MAX_HEADERS + 1;
    this.#server.maxConnections = limits.connections + MAX_REFUSED;
    const accept = (request: PublicRequest, response: PublicResponse): void => {
      this.#connectionOf(request.socket)?.accept(request, response);
    };
    this.#server.on('request', accept);
    this.#server.on('checkExpectation', accept);
    this.#server.on('checkContinue', (request, response) => {
      // Asks the client for the body when something begins to read it.
      request.once('resume', () => response.headersSent || response.writeContinue());
      accept(request, response);
    });
    this.#server.on('connect', ({ socket }) => this.#connectionOf(socket)?.refuse(new ContractException(400)));
    // Errors of a TLS handshake come here, too.
    this.#server.on('clientError', (error: ParserError, socket) => this.#connectionOf(socket as Socket)?.fail(error));
    const unreadCheck = setInterval(() => {
      for (const connection of this.#connections.values()) connection.destroyIfUnread(limits.request);
    }, limits.request).unref();
    this.#server.once('close', () => clearInterval(unreadCheck));
  }

  /** Returns Node's server, whose requests are answered with this function. */
  serve(handle: PublicHandler): Server<typeof PublicRequest, typeof PublicResponse> {
    this.#handle = handle;
    return this.#server;
  }

  /** Closes each connection after its request in progress. Node and Fastify then close what is idle. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await Promise.all(Array.from(this.#connections.values(), (connection) => connection.drain()));
  }

  #createServer(certificate: Certificate | undefined): Server<typeof PublicRequest, typeof PublicResponse> {
    const headersTimeout = Math.min(this.#limits.headers, this.#limits.request);
    const options: ServerOptions<typeof PublicRequest, typeof PublicResponse> = {
      IncomingMessage: PublicRequest,
      ServerResponse: PublicResponse,
      maxHeaderSize: MAX_HEAD,
      headersTimeout,
      requestTimeout: this.#limits.request,
      keepAliveTimeout: this.#limits.keepAlive,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
      // Node would answer in its own words; message-rules.ts checks the header.
      requireHostHeader: false,
      // Joins two Authorization or Host headers into an invalid one; Node would drop the second.
      joinDuplicateHeaders: true,
    };
    if (certificate === undefined) return createServer(options).on('connection', (socket) => this.#open(socket));
    return createTlsServer({ ...options, ...certificate, handshakeTimeout: headersTimeout, allowHalfOpen: true })
      .on('connection', (socket) => this.#add(this.#connect(socket as Socket)))
      .on('tlsClientError', (_error, socket) => socket.destroy())
      .on('secureConnection', (socket) => this.#open(socket));
  }

  #open(socket: Socket): void {
    const connection = this.#connect(socket);
    if (!this.#add(connection)) connection.refuse(new ContractException(503));
  }

  #connect(socket: Socket): ClientConnection {
    return new ClientConnection(
      socket,
      (request, response) => this.#answer(request, response),
      (connection) => this.#moveToEnd(connection),
    );
  }

  /** Adds a connection, or replaces the handshake before it; returns false if all others are in use. */
  #add(connection: ClientConnection): boolean {
    const { peer, socket } = connection;
    const hasRoom =
      this.#connections.delete(peer) || this.#connections.size < this.#limits.connections || this.#closeLongestWaiting();
    if (!hasRoom) return false;
    this.#connections.set(peer, connection);
    socket.once('close', () => {
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer);
    });
    if (this.#isDraining) void connection.drain();
    return true;
  }

  /** Moves a connection that begins to wait behind those that wait already. */
  #moveToEnd(connection: ClientConnection): void {
    if (this.#connections.delete(connection.peer)) this.#connections.set(connection.peer, connection);
  }

  #closeLongestWaiting(): boolean {
    const waiting = [...this.#connections.values()].filter(({ isWaiting }) => isWaiting);
    const longest = waiting.find(({ hasSucceeded }) => !hasSucceeded) ?? waiting[0];
    if (longest === undefined) return false;
    this.#connections.delete(longest.peer);
    longest.socket.destroy();
    return true;
  }

  #connectionOf(socket: Socket): ClientConnection | undefined {
    return this.#connections.get(peerOf(socket));
  }

  #answer(request: PublicRequest, response: PublicResponse): void {
    const { origin } = request.headers;
    const isAllowed = origin !== undefined && this.#origins.has(origin);
    if (isAllowed) allowOrigin(response, origin);
    const violation = findViolation(request);
    if (request.rawHeaders.length > 2 * MAX_HEADERS) {
      response.refuse(new ContractException(431, `There are more than ${MAX_HEADERS} headers: send fewer.`));
    } else if (violation !== undefined) response.refuse(new ContractException(400, violation));
    // On the next tick the parser knows whether a body follows: without one, the connection stays open.
    else if (isAllowed && isPreflight(request)) process.nextTick(answerPreflight, response);
    else this.#handle(request, response);
  }
}
