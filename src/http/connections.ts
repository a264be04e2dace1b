import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { ContractException } from '../contract/contract.exception.js';
import { endAnswer, refuse, writeRefusal } from './answer.js';

/** An error of Node's HTTP parser, of its clock, or of the connection. */
interface InputError extends Error {
  readonly code?: string;
}

/** Milliseconds between two looks at the answers in flight while the service stops. */
const CLOSE_INTERVAL = 10;

/** The connections of the clients: refuses what is not a request when the requests before it are answered. */
export class Connections {
  /** The latest reply on each connection. Node sends the answers before it first. */
  readonly #latest = new Map<Socket, FastifyReply>();
  /** The connections that end with a refusal of their input: Node reports each further packet. */
  readonly #refused = new WeakSet<Socket>();

  /** Notes the reply to a request that has arrived. */
  note(reply: FastifyReply): void {
    const { socket } = reply.request.raw;
    if (!this.#latest.has(socket)) socket.once('close', () => this.#latest.delete(socket));
    this.#latest.set(socket, reply);
  }

  /** Refuses what does not arrive in time, or is not HTTP: the body of a request, or input that is not a request. */
  refuseInput(error: InputError, socket: Socket): void {
    const refusal = refusalFor(error);
    const latest = this.#latest.get(socket);
    // The connection has failed, such as by a reset or in its TLS handshake.
    if (refusal === undefined) socket.destroy();
    else if (latest !== undefined && !latest.request.raw.complete) refuseBody(latest, refusal);
    else this.end(socket, refusal);
  }

  /** Ends a connection with a refusal of its input, after the answers before it. */
  end(socket: Socket, refusal: ContractException): void {
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    void this.#endAfterAnswers(socket, refusal);
  }

  /**
   * Resolves when the clients have taken their answers. The server listens no longer, so each answer is the last one of
   * its connection.
   */
  async close(): Promise<void> {
    do {
      // Before the first look, Node reads the requests that have already arrived.
      await wait(CLOSE_INTERVAL);
      // A refusal does not wait for the rest of its body.
      for (const reply of this.#latest.values()) endAnswer(reply);
    } while ([...this.#latest.values()].some(({ raw }) => !raw.writableFinished));
  }

  async #endAfterAnswers(socket: Socket, refusal: ContractException): Promise<void> {
    let response = this.#latest.get(socket)?.raw;
    while (response !== undefined && !response.writableFinished) {
      await once(response, 'close');
      // The rest of a late request may have come meanwhile.
      response = this.#latest.get(socket)?.raw;
    }
    writeRefusal(socket, refusal);
  }
}

/** Refuses a body that is late or not HTTP, if it is not refused already. Nothing waits for the rest of it. */
function refuseBody(reply: FastifyReply, refusal: ContractException): void {
  if (!reply.raw.headersSent) refuse(reply, refusal);
  endAnswer(reply);
}

/** Returns the refusal for an error of the input; undefined for other errors. */
function refusalFor({ code = '' }: InputError): ContractException | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ContractException(408);
  if (code === 'HPE_HEADER_OVERFLOW') return new ContractException(431);
  return code.startsWith('HPE_') ? new ContractException(400) : undefined;
}
