import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { ContractException } from '../contract/contract.exception.js';
import { exceptionFor, type ParserError } from './parser-error.js';
import type { PublicRequest } from './public-request.js';
import { type PublicResponse, refuseInput } from './public-response.js';

/** Milliseconds for which input is still read, and discarded, after the last answer. */
const LINGER = 2_000;

/** Bytes of a discarded chunk below which the connection is no longer read: Node's parser takes 2 µs for each chunk. */
const SMALL_CHUNK = 64;

/** Answers a request. */
export type PublicHandler = (request: PublicRequest, response: PublicResponse) => void;

/** A request and its answer. */
interface Exchange {
  readonly request: PublicRequest;
  readonly response: PublicResponse;
}

/** One connection of a client: its requests run one after another, and its last answer reaches the client. */
export class ClientConnection {
  /** Identifies the TCP connection: TLS sockets do not reveal the socket below them. */
  readonly peer: string;
  /** True if the client has got a 200. */
  hasSucceeded = false;
  /** True while the service waits for the client: for a request, or for the client to take an answer. */
  isWaiting = true;
  /** True if the connection closes after the answer in progress. */
  isDraining = false;
  /** In the order of their answers; the first one is in progress. */
  #exchanges: Exchange[] = [];
  /** The refusal that follows the exchanges, as the last answer. */
  #refusal: ContractException | undefined;
  /** True after the last answer: what follows is discarded. */
  #isEnding = false;
  #isHeld = false;
  /** The time since which an answer waits for the client to take it. */
  #untakenSince: number | undefined;

  /**
   * @param handle answers a request; called for one request at a time
   * @param onWaiting called when the connection begins to wait for its client
   */
  constructor(
    readonly socket: Socket,
    private readonly handle: PublicHandler,
    private readonly onWaiting: (connection: ClientConnection) => void,
  ) {
    this.peer = peerOf(socket);
    // No handling needed: `close` follows. In the event `connect`, Node has removed its own listener.
    socket.on('error', () => undefined);
    // Node resumes the socket when something reads a body.
    socket.on('resume', () => this.#isHeld && socket.pause());
  }

  /** Takes a request from Node's parser. Only safe methods could run in parallel (RFC 9112 §9.3.2). */
  accept(request: PublicRequest, response: PublicResponse): void {
    if (this.#isEnding || this.#refusal !== undefined) {
      this.#discard(request);
      return;
    }
    response.client = this;
    this.#exchanges.push({ request, response });
    response.once('finish', () => this.#continue());
    if (request.isChunked) {
      // Chunks that are parsed but not read occupy hundreds of bytes each.
      this.#hold();
      request.once('resume', () => this.#exchanges.length === 1 && this.#release());
    }
    if (this.#exchanges.length === 1) this.#start();
    else this.#hold();
  }

  /** Refuses input that the parser rejected, or that did not arrive in time. */
  fail(error: ParserError): void {
    const last = this.#exchanges.at(-1);
    const exception = exceptionFor(error);
    if (exception === undefined) this.socket.destroy();
    // The error is in the body of a request, which has its own answer.
    else if (last?.request.complete === false) last.request.fail(exception);
    else this.refuse(exception);
  }

  /** Answers with a refusal after the requests in progress, and closes the connection. */
  refuse(exception: ContractException): void {
    this.#refusal ??= exception;
    if (this.#exchanges.length === 0) this.#sendRefusal();
  }

  /** Notes that an answer is written, and waits for the client to take it. */
  noteAnswer(status: number): void {
    this.hasSucceeded ||= status === 200;
    this.isWaiting = true;
    this.#untakenSince = performance.now();
    this.onWaiting(this);
  }

  /**
   * Closes in stages after the last answer (RFC 9112 §9.6): a reset because of unread input would discard that answer at
   * the client.
   */
  end(): void {
    this.#isEnding = true;
    for (const { request } of this.#exchanges) if (!request.readableEnded) this.#discard(request);
    this.#exchanges = [];
    this.socket.once('finish', () => {
      this.#untakenSince = undefined;
      const timer = setTimeout(() => this.socket.destroy(), LINGER);
      this.socket.once('close', () => clearTimeout(timer));
    });
    this.socket.end();
    this.#isHeld = false;
    this.socket.resume();
  }

  /** Closes the connection after its request in progress, and resolves when no answer waits for Node to send it. */
  async drain(): Promise<void> {
    this.isDraining = true;
    // Node reads what the operating system has received before the second of these.
    await setImmediate();
    await setImmediate();
    const [exchange] = this.#exchanges;
    if (exchange === undefined) this.#closeIfDrained();
    else if (exchange.response.writableEnded) {
      await new Promise((resolve) => exchange.response.once('close', resolve));
    }
  }

  /** Closes the connection of a client that has not taken an answer for so many milliseconds. */
  destroyIfUnread(milliseconds: number): void {
    if (this.#untakenSince !== undefined && performance.now() - this.#untakenSince > milliseconds) {
      this.socket.destroy();
    }
  }

  #start(): void {
    const [exchange] = this.#exchanges;
    if (exchange === undefined || this.socket.destroyed) return;
    this.isWaiting = false;
    if (this.#exchanges.length === 1 && !exchange.request.isChunked) this.#release();
    this.handle(exchange.request, exchange.response);
  }

  #continue(): void {
    this.#untakenSince = undefined;
    this.#exchanges.shift();
    // One packet may hold thousands of requests: other connections have their turns between them.
    if (this.#exchanges.length > 0) void setImmediate().then(() => this.#start());
    else if (this.#refusal !== undefined) this.#sendRefusal();
    else {
      this.#release();
      this.#closeIfDrained();
    }
  }

  #closeIfDrained(): void {
    if (this.isDraining && !this.#isEnding) this.socket.destroy();
  }

  #sendRefusal(): void {
    if (this.#refusal === undefined || this.#isEnding) return;
    this.socket.write(refuseInput(this.#refusal, this.socket.remoteAddress));
    this.noteAnswer(400);
    this.end();
  }

  #discard(request: PublicRequest): void {
    request.on('data', (chunk: Buffer) => {
      if (request.isChunked && chunk.length < SMALL_CHUNK) this.#hold();
    });
    request.resume();
  }

  /** Stops to read, until the client has its answer or the service reads a body. */
  #hold(): void {
    this.#isHeld = true;
    // After a call of `resume` in this tick, which would read on.
    process.nextTick(() => this.#isHeld && this.socket.pause());
  }

  #release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.socket.resume();
  }
}

/** Identifies the TCP connection of a socket, with TLS or without. */
export function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
