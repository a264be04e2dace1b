import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { answer } from '../errors/answer.js';
import { ContractException } from '../errors/contract.exception.js';
import { violationIn } from './message-rules.js';
import { PublicRequest } from './public-request.js';

/** Bytes of the request line and the headers together; more is 414 or 431. */
const MAX_HEAD = 16_384;

/** Milliseconds that a connection is read on after its last answer. */
const LINGER = 2_000;

/** Milliseconds; a client that takes longer is answered 408. */
export interface TimeLimits {
  /** From the first byte of a request to the end of its headers. */
  readonly headers: number;
  /** From the first byte of a request to its last. */
  readonly request: number;
  /** Between two requests of a connection, which ends without an answer then. */
  readonly keepAlive: number;
}

/** What Node's parser says of an error: the packet that it is in, and how far into it the parser came. */
interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
  readonly bytesParsed?: number;
}

/** The last exchange of each connection: the answers to what comes below the router must wait for it. */
const lastResponses = new WeakMap<Socket, ServerResponse<PublicRequest>>();

/** Connections that have had their last answer; nothing that comes after it is a request any more (RFC 9112 §9.6). */
const lingering = new WeakSet<Socket>();

/** A server that answers in the contract's words whatever comes, HTTP or not, once, and in order. */
export function createPublicServer(handle: RequestListener, limits: TimeLimits): Server {
  const server = createServer({
    IncomingMessage: PublicRequest,
    maxHeaderSize: MAX_HEAD,
    headersTimeout: limits.headers,
    requestTimeout: limits.request,
    keepAliveTimeout: limits.keepAlive,
    connectionsCheckingInterval: Math.min(1_000, limits.headers, limits.request),
    // Node would answer in its own words; the rules of the message are checked below.
    requireHostHeader: false,
    // Two Authorization or Host headers become one that is not valid, where Node would drop the second.
    joinDuplicateHeaders: true,
  });
  // What the limit of the head allows is counted in bytes; Node would drop headers after the 2,000th.
  server.maxHeadersCount = 0;
  // A client that has shut down its half of the connection still waits for its answers (RFC 9112 §9.6).
  Object.assign(server, { httpAllowHalfOpen: true });

  const accept = (request: PublicRequest, response: ServerResponse<PublicRequest>): void => {
    if (lingering.has(request.socket)) {
      request.resume();
      return;
    }
    lastResponses.set(request.socket, response);
    const violation = violationIn(request);
    if (violation === undefined) handle(request, response);
    else answer(response, new ContractException(400, violation));
  };

  server.on('connection', (socket: Socket) => {
    // Node's own would reset a connection whose client is still sending, and the answer with it.
    socket.destroySoon = () => linger(socket);
  });
  server.on('clientError', onClientError);
  server.on('request', accept);
  server.on('checkExpectation', accept);
  server.on('checkContinue', (request: PublicRequest, response: ServerResponse<PublicRequest>) => {
    request.awaitsContinue = true;
    accept(request, response);
  });
  server.on('connect', (request: PublicRequest, socket: Socket) => {
    // Node hands over the bare connection; for us CONNECT is a method like any other.
    afterLastAnswer(socket, () => accept(request, responseOn(socket, request)));
  });
  return server;
}

/** Answers what the parser refuses, and what does not come in time. */
function onClientError(error: ParserError, socket: Socket): void {
  if (lingering.has(socket)) return;
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy(error);
    return;
  }
  const exception = exceptionFor(error);
  const last = lastResponses.get(socket);
  if (last !== undefined && !last.req.complete) {
    // The error is in a body whose request is being answered.
    last.req.fail(exception);
    return;
  }
  afterLastAnswer(socket, () => answer(responseOn(socket, new IncomingMessage(socket)), exception));
}

/** Runs when the answers to all the requests before are sent, unless the last of them has ended the connection. */
function afterLastAnswer(socket: Socket, run: () => void): void {
  const last = lastResponses.get(socket);
  if (last === undefined || last.writableFinished) run();
  else last.once('finish', () => lingering.has(socket) || run());
}

/** A response to write on a connection that Node's parser has given up. */
function responseOn<Request extends IncomingMessage>(socket: Socket, request: Request): ServerResponse<Request> {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => {
    response.detachSocket(socket);
    linger(socket);
  });
  return response;
}

/** Closes in stages (RFC 9112 §9.6): says that no more comes, and reads on until the client has heard. */
function linger(socket: Socket): void {
  if (lingering.has(socket)) return;
  lingering.add(socket);
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER);
  socket.once('close', () => clearTimeout(timer));
}

function exceptionFor(error: ParserError): ContractException {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ContractException(408);
    case 'HPE_HEADER_OVERFLOW':
      return new ContractException(isInRequestLine(error) ? 414 : 431);
    case 'HPE_INVALID_EOF_STATE':
      return new ContractException(400, 'The request ended before it was complete.');
    default:
      return new ContractException(400);
  }
}

/** Whether the parser gave up in the request line: in the packet, no line has ended before that place. */
function isInRequestLine({ rawPacket, bytesParsed }: ParserError): boolean {
  const line = Buffer.from(rawPacket ?? []).toString('latin1', 0, bytesParsed);
  return /^[A-Z-]+ \S+$/.test(line);
}
