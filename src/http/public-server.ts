import { Server } from 'node:http';
import { Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { ContractException } from '../contract/contract.exception.js';
import type { Certificate } from './certificate.js';
import { Connection, type PublicHandler } from './connection.js';
import { Connections } from './connections.js';
import { allowOrigin, answerPreflight, isPreflight } from './cross-origin.js';
import { findViolation } from './message-rules.js';
import type { ParserError } from './parser-error.js';
import { PublicRequest } from './public-request.js';
import { PublicResponse } from './public-response.js';
import type { ServerLimits } from './server-limits.js';
import { Turns } from './turns.js';

/** Bytes of the URL and of the names and values of the headers together, at which a request is refused. */
const MAX_HEAD = 16_384;

/** RFC 8446 §5.1: the content type of the record that begins a handshake. */
const TLS_HANDSHAKE = 0x16;

/** Headers of a request: each occupies hundreds of bytes, however short it is. */
const MAX_HEADERS = 256;

const NO_TLS = 'This port accepts only HTTPS: send the same request to https://.';

/** An HTTP or HTTPS server that gives every input on its port one answer of the contract, in order. */
export class PublicServer extends Server<typeof PublicRequest, typeof PublicResponse> {
  readonly #handle: PublicHandler;
  readonly #limits: ServerLimits;
  readonly #origins: ReadonlySet<string>;
  readonly #tls: TlsServer | undefined;
  #certificate: Certificate | undefined;
  /** All connections, those in a TLS handshake included. */
  readonly #all: Connections;
  readonly #turns = new Turns();
  readonly #connections = new Set<Connection>();
  /** Sockets in a TLS handshake, by peer. */
  readonly #handshakes = new Map<string, Socket>();

  constructor(
    handle: PublicHandler,
    limits: ServerLimits,
    options: {
      /** The origins whose pages may send requests, see {@link allowOrigin}; the set may change. */
      readonly origins?: ReadonlySet<string>;
      /** Makes it an HTTPS server. */
      readonly certificate?: Certificate | undefined;
    } = {},
  ) {
    const headersTimeout = Math.min(limits.headers, limits.request);
    super({
      IncomingMessage: PublicRequest,
      ServerResponse: PublicResponse,
      maxHeaderSize: MAX_HEAD,
      headersTimeout,
      requestTimeout: limits.request,
      keepAliveTimeout: limits.keepAlive,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
      // Node would answer in its own words; message-rules.ts checks the header.
      requireHostHeader: false,
      // Joins two Authorization or Host headers into an invalid one; Node would drop the second.
      joinDuplicateHeaders: true,
    });
    // Node drops further headers without a word. One more than allowed shows that there were too many.
    this.maxHeadersCount = MAX_HEADERS + 1;
    this.#all = new Connections(limits.connections, limits.memory);
    this.#handle = handle;
    this.#limits = limits;
    this.#origins = options.origins ?? new Set();
    this.#certificate = options.certificate;
    this.#tls = options.certificate && this.#createTlsServer(options.certificate, headersTimeout);

    const accept = (request: PublicRequest, response: PublicResponse): void => {
      request.clientConnection.accept(request, response);
    };
    this.on('request', accept);
    this.on('checkExpectation', accept);
    this.on('checkContinue', (request: PublicRequest, response: PublicResponse) => {
      // Asks the client for the body when something begins to read it.
      request.once('resume', () => response.headersSent || response.writeContinue());
      accept(request, response);
    });
    this.on('connect', (request: PublicRequest, connection) => {
      // CONNECT is a method like any other here, although Node's parser has detached from the connection.
      (connection as Connection).accept(request, new PublicResponse(request), true);
    });
    this.on('clientError', (error: ParserError, connection) => (connection as unknown as Connection).fail(error));
    const unreadCheck = setInterval(() => {
      for (const connection of this.#connections) connection.destroyIfUnread(limits.request);
    }, limits.request).unref();
    this.once('close', () => clearInterval(unreadCheck));
  }

  /** The certificate for new connections; undefined without TLS. */
  get certificate(): Certificate | undefined {
    return this.#certificate;
  }

  setCertificate(certificate: Certificate): void {
    this.#tls?.setSecureContext(certificate);
    this.#certificate = certificate;
  }

  /**
   * Puts a {@link Connection} between each socket and the parser. Node documents that any Duplex can be injected with the
   * event `connection`, but no option that injects one for each socket.
   */
  override emit(event: string, ...parameters: unknown[]): boolean {
    const [socket] = parameters;
    if (event !== 'connection' || !(socket instanceof Socket)) return super.emit(event, ...parameters);
    this.#welcome(socket);
    return true;
  }

  /**
   * Closes each connection after its response in progress. Fastify and `close()` call it; Node's own would reset a
   * connection whose next request is on its way.
   */
  override closeIdleConnections(): void {
    for (const connection of this.#connections) connection.drain();
    for (const socket of this.#handshakes.values()) socket.destroy();
  }

  #welcome(socket: Socket): void {
    if (this.#tls === undefined) this.#open(socket);
    else this.#negotiate(socket, this.#tls);
  }

  /** Looks at the first byte: a client that does not begin a TLS handshake gets an answer without TLS. */
  #negotiate(socket: Socket, tls: TlsServer): void {
    const peer = peerOf(socket);
    this.#handshakes.set(peer, socket);
    this.#all.add(socket);
    socket.once('close', () => this.#endHandshake(peer));
    // Errors before the TLS server adds its own listener.
    socket.on('error', () => undefined);
    socket.setTimeout(this.headersTimeout, () => socket.destroy());
    socket.once('data', (chunk: Buffer) => {
      socket.pause().setTimeout(0);
      if (chunk[0] === TLS_HANDSHAKE) {
        socket.unshift(chunk);
        tls.emit('connection', socket);
      } else {
        this.#endHandshake(peer);
        const connection = this.#connect(socket);
        this.#all.add(connection);
        connection.refuse(new ContractException(400, NO_TLS));
      }
    });
  }

  #createTlsServer(certificate: Certificate, handshakeTimeout: number): TlsServer {
    return createTlsServer({ ...certificate, handshakeTimeout, allowHalfOpen: true })
      .on('secureConnection', (socket) => {
        this.#endHandshake(peerOf(socket));
        this.#open(socket);
      })
      .on('tlsClientError', (_error, socket) => socket.destroy());
  }

  #endHandshake(peer: string): void {
    const socket = this.#handshakes.get(peer);
    if (socket !== undefined) this.#all.remove(socket);
    this.#handshakes.delete(peer);
  }

  #open(socket: Socket): void {
    const connection = this.#connect(socket);
    if (this.#all.add(connection)) super.emit('connection', connection);
    else connection.refuse(new ContractException(503));
    if (!this.listening) connection.drain();
  }

  #connect(socket: Socket): Connection {
    const answer: PublicHandler = (...exchange) => this.#answer(...exchange);
    const connection = new Connection(socket, this.#limits.keepAlive, answer, this.#all, this.#turns);
    this.#connections.add(connection);
    connection.once('close', () => {
      this.#connections.delete(connection);
      this.#all.remove(connection);
    });
    return connection;
  }

  #answer(request: PublicRequest, response: PublicResponse): void {
    if (request.rawHeaders.length > 2 * MAX_HEADERS) {
      response.refuse(new ContractException(431, `There are more than ${MAX_HEADERS} headers: send fewer.`));
      return;
    }
    const violation = findViolation(request);
    const { origin } = request.headers;
    const isAllowed = origin !== undefined && this.#origins.has(origin);
    if (isAllowed) allowOrigin(response, origin);
    if (violation !== undefined) response.refuse(new ContractException(400, violation));
    // On the next tick the parser knows that no body follows, so that the connection can stay open.
    else if (isAllowed && isPreflight(request)) process.nextTick(answerPreflight, response);
    else this.#handle(request, response);
  }
}

/** Identifies a TCP connection of this port, because TLS sockets do not reveal the socket below them. */
function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
