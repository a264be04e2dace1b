import type { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { ContractException } from '../contract/contract.exception.js';
import { LINGER, refuse, writeRefusal } from './answer.js';

/** An error of Node's HTTP parser, of its clock, or of the connection. */
interface InputError extends Error {
  readonly code?: string;
}

/** The connections of the clients: refuses what is not a request when the requests before it are answered. */
export class Connections {
  /** The latest reply on each connection. The answers before it are sent before its own. */
  readonly #latest = new Map<Socket, FastifyReply>();
  /** The connections that end with a refusal of their input, which LINGER limits. */
  readonly #refused = new Set<Socket>();
  /** With TLS, also the sockets of handshakes: `closeAllConnections` of Node leaves them open, for ten seconds. */
  readonly #sockets = new Set<Socket>();

  /** Takes the connections of a server, which does not listen yet. */
  open(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Notes the reply to a request that has arrived. */
  note(reply: FastifyReply): void {
    const { socket } = reply.request.raw;
    if (!this.#latest.has(socket)) socket.once('close', () => this.#latest.delete(socket));
    this.#latest.set(socket, reply);
  }

  /** Refuses what does not arrive in time, or is not HTTP: the body of a request, or input that is not a request. */
  refuseInput(error: InputError, socket: Socket): void {
    const refusal = refusalFor(error);
    // The connection has failed, such as by a reset or in its TLS handshake.
    if (refusal === undefined) return void socket.destroy();
    const latest = this.#latest.get(socket);
    if (latest === undefined || latest.request.raw.complete) {
      this.end(socket, refusal);
    } else {
      if (!latest.raw.headersSent) refuse(latest, refusal);
      // Nothing waits for the rest of the body any longer.
      latest.raw.end();
    }
  }

  /** Ends a connection with a refusal of its input. */
  end(socket: Socket, refusal: ContractException): void {
    // Node reports each further packet.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    socket.once('close', () => this.#refused.delete(socket));
    this.#refuseAfterAnswers(socket, refusal);
  }

  /** Returns whether a client waits for the answer to its latest request. */
  isAwaited(socket: Socket): boolean {
    const latest = this.#latest.get(socket);
    return latest !== undefined && !latest.raw.headersSent;
  }

  /**
   * Closes the connections when the clients have taken their answers. The server listens no longer, so each answer is the last
   * one of its connection. Those who still send a refused body, or input that is not HTTP, have LINGER to read the refusal.
   */
  async close(): Promise<void> {
    setTimeout(() => this.#endRefusedBodies(), LINGER).unref();
    // Node first reads what has arrived before.
    await nextTurn();
    for (const socket of this.#refused) await firstClose(socket);
    for (let reply = this.#unfinished(); reply !== undefined; reply = this.#unfinished()) {
      // On Node 20 and 22, a response that waits for the one before it emits no `close` with its connection.
      await firstClose(reply.raw, reply.request.raw.socket);
    }
    for (const socket of this.#sockets) socket.destroy();
  }

  #unfinished(): FastifyReply | undefined {
    return [...this.#latest.values()].find(({ raw }) => !raw.writableFinished);
  }

  #endRefusedBodies(): void {
    for (const { raw } of this.#latest.values()) {
      if (raw.headersSent) raw.end();
    }
  }

  #refuseAfterAnswers(socket: Socket, refusal: ContractException): void {
    const response = this.#latest.get(socket)?.raw;
    if (response === undefined || response.writableFinished) writeRefusal(socket, refusal);
    // The rest of a late request may have come meanwhile.
    else response.once('close', () => this.#refuseAfterAnswers(socket, refusal));
  }
}

/** Waits until one of the emitters closes. */
function firstClose(...emitters: readonly EventEmitter[]): Promise<void> {
  return new Promise((resolve) => {
    for (const emitter of emitters) emitter.once('close', resolve);
  });
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
