import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Socket } from 'node:net';
import { ContractException } from '../errors/contract.exception.js';
import type { Certificate } from './certificate.js';
import { allowOrigin, answerPreflight } from './cross-origin.js';
import { violationIn } from './message-rules.js';
import { exceptionFor, exceptionForHead, type ParserError } from './parser-error.js';
import { PublicRequest } from './public-request.js';
import { PublicResponse } from './public-response.js';
import type { ServerLimits } from './server-limits.js';

/** Bytes of the URL and of the names and values of the headers together; as many are 414 or 431. */
const MAX_HEAD = 16_384;

/** Milliseconds that a connection is read on after its last answer. */
const LINGER = 2_000;

const NO_TLS = 'This port takes HTTPS alone: send the same request to https://.';

/** The last exchange of each connection: the answers to what comes below the router must wait for it. */
const lastResponses = new WeakMap<Socket, PublicResponse>();

/** Connections whose last answer is decided; nothing that comes on them is a request any more (RFC 9112 §9.6). */
const abandoned = new WeakSet<Socket>();

/** A server that answers in the contract's words whatever comes, HTTP or not, once, and in order. */
export function createPublicServer(
  handle: RequestListener,
  limits: ServerLimits,
  options: {
    /** Whose pages may create plants, see `allowOrigin`; it may change. */
    readonly origins?: ReadonlySet<string>;
    /** Given for HTTPS, and nothing else, where there would be HTTP. */
    readonly certificate?: Certificate | undefined;
  } = {},
): Server {
  const settings = {
    IncomingMessage: PublicRequest,
    ServerResponse: PublicResponse,
    maxHeaderSize: MAX_HEAD,
    headersTimeout: Math.min(limits.headers, limits.request),
    requestTimeout: limits.request,
    keepAliveTimeout: limits.keepAlive,
    connectionsCheckingInterval: Math.min(1_000, limits.headers, limits.request),
    // Node would answer in its own words; the rules of the message are checked below.
    requireHostHeader: false,
    // Two Authorization or Host headers become one that is not valid, where Node would drop the second.
    joinDuplicateHeaders: true,
  };
  const { certificate, origins = new Set<string>() } = options;
  const server =
    certificate === undefined
      ? createServer(settings)
      : // A client says that it sends no more in TLS, and in TCP below.
        createTlsServer({
          ...settings,
          ...certificate,
          handshakeTimeout: settings.headersTimeout,
          allowHalfOpen: true,
        });
  // What the limit of the head allows is counted in bytes; Node would drop headers after the 2,000th.
  server.maxHeadersCount = 0;
  // A client that has shut down its half of the connection still waits for its answers (RFC 9112 §9.6).
  Object.assign(server, { httpAllowHalfOpen: true });

  const accept = (request: PublicRequest, response: PublicResponse): void => {
    const { socket } = request;
    if (lastResponses.get(socket)?.shouldKeepAlive === false) {
      // The answer before this one, given or not, ends the connection: this request has no effect and no answer.
      abandon(socket);
      request.resume();
      return;
    }
    // A service that shuts down gives each connection one more answer. And where a client offers another protocol, Node's
    // parser throws away what comes in the same packet, though it is still HTTP: what follows could be half a request.
    if (!server.listening || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    lastResponses.set(socket, response);
    const violation = violationIn(request);
    const isPreflight = allowOrigin(request, response, origins);
    if (violation !== undefined) response.refuse(new ContractException(400, violation));
    else if (isPreflight) answerPreflight(response);
    else handle(request, response);
  };

  /** Of TCP; with HTTPS they carry the others, as soon as client and server have agreed on keys. */
  const carriers = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    carriers.add(socket);
    socket.once('close', () => carriers.delete(socket));
    // Those that are told so need room, too, until they have read it.
    if (carriers.size > 2 * limits.connections) socket.destroy();
  });
  const connections = new Set<Socket>();
  server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    // Node's own would reset a connection whose client is still sending, and the answer with it.
    socket.destroySoon = () => linger(socket);
    if (carriers.size > limits.connections && !socket.destroyed) refuse(socket, new ContractException(503));
  });
  // Not by itself a reason to go on, where the service could not listen.
  const watch = setInterval(() => dropUnread(connections), limits.request).unref();
  server.once('close', () => clearInterval(watch));
  // Node's own would reset a connection whose next request is on its way.
  server.closeIdleConnections = () => {
    const agreed = new Set([...connections].map(carrierOf));
    for (const carrier of carriers) if (!agreed.has(carrier)) carrier.destroy();
    for (const socket of connections) {
      const last = lastResponses.get(socket);
      if (last?.headersSent === false) last.shouldKeepAlive = false;
      closeWhenIdle(socket);
    }
  };
  server.on('clientError', onClientError);
  server.on('request', accept);
  server.on('checkExpectation', accept);
  server.on('checkContinue', (request: PublicRequest, response: PublicResponse) => {
    request.awaitsContinue = true;
    accept(request, response);
  });
  server.on('connect', (request: PublicRequest, socket: Socket) => {
    // Node hands over the bare connection; for us CONNECT is a method like any other.
    abandon(socket);
    afterLastAnswer(socket, () => accept(request, responseOn(socket, request)));
  });
  // To those who only listen and close it is a server like any other.
  return server as unknown as Server;
}

/** How many bytes of its answers a client had taken when some of them were seen to wait. */
const taken = new WeakMap<Socket, number>();

/** Ends the connections whose clients have not taken a byte of a waiting answer since the last call. */
function dropUnread(connections: Iterable<Socket>): void {
  for (const socket of connections) {
    const bytes = socket.bytesWritten - socket.writableLength;
    // An answer that waits for one before it is not written yet: the client can do nothing about it.
    if (socket.writableLength === 0) taken.delete(socket);
    else if (taken.get(socket) === bytes) socket.destroy();
    else taken.set(socket, bytes);
  }
}

/** Answers what the parser refuses, and what does not come in time. */
function onClientError(error: ParserError, socket: Socket): void {
  if (abandoned.has(socket)) return;
  const carrier = carrierOf(socket);
  if (
    carrier !== socket &&
    carrier.writable &&
    /^ERR_SSL_(?:HTTP_REQUEST|WRONG_VERSION_NUMBER)$/.test(`${error.code}`)
  ) {
    // What begins like no TLS is HTTP, and can be answered as such before Node closes the connection.
    responseOn(carrier, new PublicRequest(carrier)).refuse(new ContractException(400, NO_TLS));
    return;
  }
  if (!socket.writable || error.code === 'ECONNRESET' || error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') {
    socket.destroy(error);
    return;
  }
  const last = lastResponses.get(socket);
  if (last !== undefined && !last.req.complete) {
    // The error is in a body whose request is being answered, or was, where the body is nobody's business.
    if (last.headersSent) {
      abandon(socket);
      afterLastAnswer(socket, () => linger(socket));
    } else {
      last.req.fail(exceptionFor(error));
    }
    return;
  }
  // The parser would report the same error for every packet, and go on after a timeout.
  abandon(socket);
  void exceptionForHead(error, socket).then((exception) => refuse(socket, exception));
}

/** The connection of TCP below one of TLS, which Node keeps to itself; of another connection, the same. */
function carrierOf(socket: Socket): Socket {
  return '_parent' in socket && socket._parent instanceof Socket ? socket._parent : socket;
}

/** Answers what is no request, as the last answer of the connection. */
function refuse(socket: Socket, exception: ContractException): void {
  abandon(socket);
  afterLastAnswer(socket, () => responseOn(socket, new PublicRequest(socket)).refuse(exception));
}

/** Closes a connection when all that came on it until now is answered. */
function closeWhenIdle(socket: Socket): void {
  // What the operating system has received already is read before the second of these turns of the event loop.
  setImmediate(() => setImmediate(() => afterLastAnswer(socket, () => linger(socket))));
}

/** Runs when the answers to all the requests before are sent, unless the last of them ends the connection. */
function afterLastAnswer(socket: Socket, run: () => void): void {
  const last = lastResponses.get(socket);
  if (last === undefined) run();
  // Only when `finish` is emitted, after the last byte, the connection is free for another response.
  else if (!last.writableFinished || last.socket !== null) last.once('finish', () => afterLastAnswer(socket, run));
  else if (last.shouldKeepAlive && socket.writable) run();
}

/** A response to write on a connection that Node's parser has given up. */
function responseOn(socket: Socket, request: PublicRequest): PublicResponse {
  const response = new PublicResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => {
    response.detachSocket(socket);
    linger(socket);
  });
  return response;
}

/** Takes the connection from Node's parser: answers still leave, and what comes is thrown away. */
function abandon(socket: Socket): void {
  if (abandoned.has(socket)) return;
  abandoned.add(socket);
  // Node's own listeners feed the parser, and end the connection with the answer that is on its way.
  socket.removeAllListeners('data').removeAllListeners('end');
  // A client that resets the connection now is nobody's business any more, and no reason to stop the process.
  socket.on('error', () => undefined);
  socket.on('data', () => undefined).resume();
  // The parser may have stopped the reading below the stream, which does not know of it.
  socket._read(0);
}

/** Closes in stages (RFC 9112 §9.6): says that no more comes, and reads on until the client has heard. */
function linger(socket: Socket): void {
  if (socket.writableEnded) return;
  abandon(socket);
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER);
  socket.once('close', () => clearTimeout(timer));
}
