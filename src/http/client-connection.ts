import type { Socket } from 'node:net';
import type { ContractException } from '../contract/contract.exception.js';
import { exceptionFor, type ParserError } from './parser-error.js';
import type { PublicRequest } from './public-request.js';
import { type PublicResponse, refuseInput } from './public-response.js';

/** Milliseconds for which input is still read, and discarded, after the last answer. */
const LINGER = 2_000;

/** Requests after the last answer at which the connection closes at once: Node keeps them until then. */
const MAX_DISCARDED = 100;

/** Answers a request. */
export type PublicHandler = (request: PublicRequest, response: PublicResponse) => void;

/** One connection of a client: its requests run one after another, and its last answer reaches the client. */
export class ClientConnection {
  /** True if the client has got a 200. */
  #hasSucceeded = false;
  /** The time since which the service waits for the client: for a request, or for the client to take an answer. */
  waitingSince: number | undefined = performance.now();
  /** True if the connection closes after the answer in progress. */
  isDraining = false;
  /** In the order of the requests; the first one is in progress. */
  #responses: PublicResponse[] = [];
  /** The error that the connection ends with, after these. */
  #lastError: ContractException | undefined;
  /** True after the last answer: what follows is discarded. */
  #isEnding = false;
  #isHeld = false;
  /** Requests that came after the last answer. */
  #discarded = 0;
  /** Runs while the client does not take an answer. */
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param handle answers a request; called for one request at a time
   * @param answerTimeout milliseconds that the client has to take an answer
   */
  constructor(
    readonly socket: Socket,
    private readonly handle: PublicHandler,
    private readonly answerTimeout: number,
  ) {
    // No handling needed: `close` follows. In the event `connect`, Node has removed its own listener.
    socket.on('error', () => undefined);
    socket.on('close', () => clearTimeout(this.#timer));
    // Also emitted when something reads a body.
    socket.on('resume', () => {
      if (this.#isHeld) socket.pause();
      else if (this.#isEnding) this.#discardInput();
    });
  }

  /** True between two requests, and before the first one. */
  get isIdle(): boolean {
    return this.#responses.length === 0 && !this.#isEnding;
  }

  /** Compares connections that wait for their clients: those that never had a 200 come first. */
  waitsLongerThan(other: ClientConnection | undefined): boolean {
    if (this.waitingSince === undefined || other?.waitingSince === undefined) return this.waitingSince !== undefined;
    if (this.#hasSucceeded !== other.#hasSucceeded) return other.#hasSucceeded;
    return this.waitingSince < other.waitingSince;
  }

  /** Resolves when the client has taken the answer that is written. */
  async taken(): Promise<void> {
    const [response] = this.#responses;
    if (response?.writableEnded === true) await new Promise((resolve) => response.once('close', resolve));
  }

  /** True if an error follows the answer in progress. If the client has half-closed, Node would end with that answer. */
  get endsWithError(): boolean {
    return this.#lastError !== undefined && this.#responses.length === 1;
  }

  /** Takes a request from Node's parser. Only safe methods could run in parallel (RFC 9112 §9.3.2). */
  accept(response: PublicResponse): void {
    if (this.#isEnding || this.#lastError !== undefined) {
      this.#discard(1);
      return;
    }
    response.client = this;
    this.#responses.push(response);
    if (this.#responses.length === 1) this.#start();
    else this.#hold();
  }

  /** Begins the next request, after the answer to the one before is written. */
  continue(): void {
    clearTimeout(this.#timer);
    this.#responses.shift();
    // One packet may hold thousands of requests: other connections have their turns between them.
    if (this.#responses.length > 0) setImmediate(() => this.#start());
    else if (this.#lastError !== undefined) this.sendLastError();
    else if (this.isDraining) this.socket.destroy();
    else this.#release();
  }

  /** Refuses input that the parser rejected, or that did not arrive in time. */
  fail(error: ParserError): void {
    const request = this.#responses.at(-1)?.req;
    const exception = exceptionFor(error);
    if (exception === undefined) this.socket.destroy();
    // The error is in the body of a request, which has its own answer.
    else if (request?.complete === false) request.fail(exception);
    else this.refuse(exception);
  }

  /** Answers with an error after the requests in progress, and closes the connection. */
  refuse(exception: ContractException): void {
    this.#lastError ??= exception;
    if (this.#responses.length === 0) this.sendLastError();
  }

  /** Gives the client its time to take an answer. */
  noteAnswer(status: number): void {
    this.#hasSucceeded ||= status === 200;
    this.waitingSince = performance.now();
    this.#closeAfter(this.answerTimeout);
  }

  /** Sends the error that follows the answers, and closes the connection. */
  sendLastError(): void {
    if (this.#lastError === undefined || this.#isEnding || this.socket.writableEnded) return;
    this.socket.write(refuseInput(this.#lastError, this.socket.remoteAddress));
    this.noteAnswer(400);
    this.end();
  }

  /** Closes in stages after the last answer (RFC 9112 §9.6): a reset because of unread input would discard it. */
  end(): void {
    this.#isEnding = true;
    this.#isHeld = false;
    // Discards what is parsed, which occupies hundreds of bytes for each chunk.
    for (const { req } of this.#responses) req.resume();
    const followers = Math.max(this.#responses.length - 1, 0);
    this.#responses = [];
    this.socket.once('finish', () => this.#closeAfter(LINGER));
    this.socket.end();
    this.#discard(followers);
    // Emits `resume` in any case.
    this.socket.pause();
    this.socket.resume();
  }

  #start(): void {
    const [response] = this.#responses;
    if (response === undefined || this.socket.destroyed) return;
    this.waitingSince = undefined;
    const { req } = response;
    const isAlone = (): boolean => this.#responses.length === 1;
    if (req.isChunked) {
      // Chunks that are parsed but not read occupy hundreds of bytes each.
      this.#hold();
      req.once('resume', () => isAlone() && this.#release());
    } else if (isAlone()) this.#release();
    this.handle(req, response);
  }

  #discard(requests: number): void {
    this.#discarded += requests;
    if (this.#discarded > MAX_DISCARDED) this.socket.destroySoon();
  }

  /**
   * Keeps input from Node's parser, which takes 2 µs for each chunk of a body, and a chunk may be a single byte. Node
   * removes its listener in the same way for Upgrade.
   */
  #discardInput(): void {
    if (!this.socket.isPaused()) this.socket.removeAllListeners('data').on('data', () => undefined);
  }

  #closeAfter(milliseconds: number): void {
    clearTimeout(this.#timer);
    // A timer would keep the process alive.
    if (!this.socket.destroyed) this.#timer = setTimeout(() => this.socket.destroy(), milliseconds);
  }

  /** Stops to read until the client has its answer, or something reads the body. */
  #hold(): void {
    if (this.#isHeld) return;
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
