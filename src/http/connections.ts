import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { principalOf } from '../auth/authenticated-request.js';
import { ContractException } from '../contract/contract.exception.js';
import { LINGER, writeAnswer, writeRefusal } from './answer.js';

/** An error of Node's HTTP parser, of its clock, or of the connection. */
interface InputError extends Error {
  readonly code?: string;
}

/** A connection on which a request has arrived, or input that is not a request. */
interface Connection {
  /** The replies whose answers the client has not taken yet, in the order of their requests. */
  readonly replies: Set<FastifyReply>;
  /** True when its last answer is sent, or waits for the answers before it. */
  isEnding: boolean;
}

/** Milliseconds between two looks at the connections during the stop. */
const POLL_INTERVAL = 5;

/** The connections of the clients. All answers are sent here, and this class decides which is the last one of a connection. */
export class Connections {
  /** With TLS, also the sockets of handshakes, which `closeAllConnections` of Node leaves open. */
  readonly #sockets = new Set<Socket>();
  readonly #bySocket = new Map<Socket, Connection>();

  /** Takes the connections of a server, which does not listen yet. */
  open(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Notes a reply. Returns false if its request came after the last answer of the connection: it must not run. */
  accept(reply: FastifyReply): boolean {
    const { raw } = reply.request;
    const { isEnding, replies } = this.#of(raw.socket);
    if (isEnding) {
      reply.hijack();
      raw.resume();
      return false;
    }
    replies.add(reply);
    reply.raw.once('close', () => replies.delete(reply));
    return true;
  }

  /** Sends the answer to a request. */
  send(reply: FastifyReply, status: number, body?: object): void {
    const isLast = isLastAnswer(reply.request, status);
    const connection = this.#bySocket.get(reply.request.raw.socket);
    // Undefined if the client has gone.
    if (connection !== undefined) connection.isEnding ||= isLast;
    writeAnswer(reply, status, body, isLast);
  }

  /** Refuses a request. */
  refuse(reply: FastifyReply, refusal: ContractException): void {
    reply.headers(refusal.headers);
    this.send(reply, refusal.getStatus(), refusal.getResponse());
  }

  /** Refuses what does not arrive in time, or is not HTTP: the body of a request, or input that is not a request. */
  refuseInput(error: InputError, socket: Socket): void {
    const refusal = refusalFor(error);
    // The connection has failed, such as by a reset or in its TLS handshake.
    if (refusal === undefined) return void socket.destroy();
    const latest = this.#latestOn(socket);
    if (latest === undefined || latest.request.raw.complete) {
      this.end(socket, refusal);
    } else {
      if (!latest.raw.headersSent) this.refuse(latest, refusal);
      // Nothing waits for the rest of the body any longer.
      latest.raw.end();
    }
  }

  /** Ends a connection with a refusal, when the client has taken the answers before it. */
  end(socket: Socket, refusal: ContractException): void {
    const connection = this.#of(socket);
    // Node reports each further packet.
    if (connection.isEnding) return;
    connection.isEnding = true;
    const latest = this.#latestOn(socket);
    if (latest === undefined) writeRefusal(socket, refusal);
    else latest.raw.once('close', () => writeRefusal(socket, refusal));
  }

  /** Returns whether a client waits for an answer of the service. */
  isAwaited(socket: Socket): boolean {
    const replies = [...(this.#bySocket.get(socket)?.replies ?? [])];
    return replies.some(({ raw }) => !raw.headersSent);
  }

  /**
   * Closes the connections when the clients have taken their answers. The server listens no longer, so each answer is the last
   * one of its connection. Those who still send a refused body, or input that is not HTTP, have LINGER to read the refusal.
   */
  async close(): Promise<void> {
    const end = performance.now() + LINGER;
    const isInUse = ({ isEnding, replies }: Connection): boolean =>
      (isEnding && performance.now() < end) || [...replies].some(({ raw }) => !raw.headersSent || raw.writableEnded);
    // Node reads in the first interval what has arrived before.
    do await wait(POLL_INTERVAL);
    while ([...this.#bySocket.values()].some(isInUse));
    for (const socket of this.#sockets) socket.destroy();
  }

  #of(socket: Socket): Connection {
    let connection = this.#bySocket.get(socket);
    if (connection === undefined) {
      const replies = new Set<FastifyReply>();
      connection = { replies, isEnding: false };
      this.#bySocket.set(socket, connection);
      socket.once('close', () => {
        this.#bySocket.delete(socket);
        // On Node 20 and 22, a response that waits for the one before it emits no `close` with its connection.
        for (const { raw } of replies) raw.emit('close');
      });
    }
    return connection;
  }

  #latestOn(socket: Socket): FastifyReply | undefined {
    return [...(this.#bySocket.get(socket)?.replies ?? [])].at(-1);
  }
}

/**
 * Returns whether the connection ends with an answer: while the service stops, and if the client is unknown or the body was
 * not read to its end.
 */
function isLastAnswer({ raw, server }: FastifyRequest, status: number): boolean {
  // The preflight of an allowed origin has no token.
  const isUnknown = principalOf(raw) === undefined && status !== 204;
  return !server.server.listening || isUnknown || (hasBody(raw) && !raw.readableEnded);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Returns the refusal for an error of the input; undefined for other errors. */
function refusalFor({ code = '' }: InputError): ContractException | undefined {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ContractException(408);
    case 'HPE_HEADER_OVERFLOW':
      return new ContractException(431);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ContractException(413, 'The chunk extensions of the body are too large: send none.');
    case 'HPE_INVALID_EOF_STATE':
      return new ContractException(400, 'The request ended before it was complete.');
    default:
      return code.startsWith('HPE_') ? new ContractException(400) : undefined;
  }
}
