import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { principalOf } from '../auth/authentication.js';
import { ContractException } from '../contract/contract.exception.js';
import { PREFLIGHT_STATUS } from './cross-origin.js';
import { LateRequest } from './late-request.js';
import { exceptionFor, type ParserError } from './parser-error.js';
import { type PublicRequest } from './public-request.js';
import { PublicResponse, renderRefusal } from './public-response.js';

/** Milliseconds for which input is still read, and discarded, after the client has the last answer. */
const LINGER = 2_000;

type State = 'waiting' | 'running' | 'answering' | 'closing';

/** Answers a request. */
export type PublicHandler = (request: PublicRequest, response: PublicResponse) => void;

/**
 * One connection of a client: one loop over one queue of requests and refusals, which runs the first until the client
 * has taken its answer.
 *
 * | state     | the connection                   | next state                                                          |
 * |-----------|----------------------------------|---------------------------------------------------------------------|
 * | waiting   | has nothing in its queue         | running, when a request arrives; closing, when there is bad input   |
 * | running   | has passed a request to Fastify  | answering, when the answer leaves; closing, if it is the last one   |
 * | answering | waits until its answer is taken  | running or closing if a request or a refusal waits; else waiting    |
 * | closing   | sends its last answer, and a FIN | none: it discards input until the client closes or its time is over |
 *
 * In each state, the connection may break. A client that does not take its answer, or does not close after the last one,
 * loses its connection after some time.
 *
 * Reading: the connection is held, that is, its socket is paused, while a second request waits or the body in progress is
 * not read. Node resumes the socket at the end of each message, when something reads a body, and when the client has taken
 * what Node waited for: `#hold` then pauses it again. `#readOn` ends the hold when the queue moves on.
 */
export class ClientConnection {
  #state: State = 'waiting';
  /** When this state began. */
  #since = performance.now();
  /** Requests, by their responses, and refusals of input that is not HTTP, in order; the first one is in progress. */
  #queue: (PublicResponse | ContractException)[] = [];
  /** Ends the client's time to take an answer, and to close after the last one. */
  #timer: NodeJS.Timeout | undefined;
  /** True if the client has got a 200. */
  #hasSucceeded = false;
  readonly #late: LateRequest;

  /**
   * @param handle answers a request; called for one request at a time
   * @param timeout milliseconds that the client has to take an answer, and to complete a request that was kept unread
   */
  constructor(
    readonly socket: Socket,
    private readonly handle: PublicHandler,
    private readonly timeout: number,
    private readonly server: { readonly isDraining: boolean },
  ) {
    // No handling needed: `close` follows. In the event `connect`, Node has removed its own listener.
    socket.on('error', () => undefined);
    socket.on('close', () => clearTimeout(this.#timer));
    socket.on('resume', () => this.#hold());
    // After the listener above: a socket that is held again does not count as read.
    this.#late = new LateRequest(socket, timeout, () => this.#failInput(new ContractException(408)));
  }

  /** True while nothing has arrived that needs an answer. */
  get isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  /**
   * Compares connections that wait for their clients, or for an identity provider that has to tell who the client is:
   * those that never had a 200 come first.
   */
  waitsLongerThan(other: ClientConnection | undefined): boolean {
    if (!this.#isReplaceable || other === undefined) return this.#isReplaceable;
    if (this.#hasSucceeded !== other.#hasSucceeded) return other.#hasSucceeded;
    return this.#since < other.#since;
  }

  /** Resolves when the client has taken the answer that is written. */
  async taken(): Promise<void> {
    const response = this.#current;
    if (this.#state === 'answering' && response !== undefined) await closeOf(response);
  }

  /** Takes a request from Node's parser. Only safe methods could run in parallel (RFC 9112 §9.3.2). */
  accept(response: PublicResponse): void {
    response.client = this;
    this.#late.noteHeaders(response.req);
    this.#enqueue(response);
  }

  /** Refuses input that the parser rejected, or that did not arrive in time. */
  fail(error: ParserError): void {
    const exception = exceptionFor(error);
    if (exception === undefined) this.socket.destroy();
    else if (exception.error === 408) this.#late.report(this.#incompleteRequest);
    else this.#failInput(exception);
  }

  /** Answers with an error after the requests in progress, and closes the connection. */
  refuse(exception: ContractException): void {
    this.#enqueue(exception);
  }

  /** Begins the answer to the request in progress. Decides what follows it, and returns true if it is the last one. */
  beginAnswer(request: PublicRequest, status: number): boolean {
    this.#hasSucceeded ||= status === 200;
    const isLast = this.server.isDraining || endsConnection(request, status);
    this.#enter(isLast ? 'closing' : 'answering');
    return isLast;
  }

  /** Finishes the answer that is written. A last answer ends with the socket (`#close`), any other with its response. */
  finishAnswer(response: PublicResponse): void {
    const [, next] = this.#queue;
    if (this.#state === 'closing') this.#close();
    // Also ends with the socket: if the client has half-closed, Node would end the connection before the refusal.
    else if (next instanceof ContractException) this.#close(next);
    else response.end();
  }

  #enter(state: State): void {
    this.#state = state;
    this.#since = performance.now();
    clearTimeout(this.#timer);
    if (state === 'answering' || state === 'closing') this.#closeAfter(this.timeout);
  }

  #enqueue(entry: PublicResponse | ContractException): void {
    // What follows a last answer is not run.
    if (this.#state === 'closing') return;
    this.#queue.push(entry);
    if (this.#queue.length === 1) void this.#run();
    // On the next tick, because Node's parser resumes the socket at the end of each message.
    if (this.#isHeld) process.nextTick(() => this.#hold());
  }

  async #run(): Promise<void> {
    while (!this.socket.destroyed) {
      const [entry] = this.#queue;
      if (entry === undefined) {
        this.#enter('waiting');
        this.#readOn();
        return;
      }
      if (entry instanceof ContractException) {
        this.#close(entry);
        return;
      }
      this.#enter('running');
      this.#readOn();
      const closed = closeOf(entry);
      this.handle(entry.req, entry);
      await closed;
      this.#queue.shift();
      // One packet may hold thousands of requests: other connections have their turns between them.
      if (this.#queue.length > 0) await setImmediate();
    }
  }

  /**
   * Closes in stages after the last answer (RFC 9112 §9.6): a reset because of unread input would discard it.
   *
   * @param refusal is sent as the last answer
   */
  #close(refusal?: ContractException): void {
    const { socket } = this;
    if (refusal !== undefined) {
      this.#enter('closing');
      socket.write(renderRefusal(refusal, socket.remoteAddress));
    }
    // Chunks that are parsed but not read occupy hundreds of bytes each.
    for (const entry of this.#queue) if (entry instanceof PublicResponse) entry.req.resume();
    this.#queue = [];
    socket.once('finish', () => this.#closeAfter(LINGER));
    socket.end();
    process.nextTick(() => {
      // Keeps input from Node's parser, which takes 2 µs for each chunk of a body, and a chunk may be a single byte. Node
      // removes its listener in the same way for Upgrade.
      socket.removeAllListeners('data').on('data', () => undefined);
      socket.resume();
    });
  }

  #closeAfter(milliseconds: number): void {
    clearTimeout(this.#timer);
    // A timer would keep the process alive.
    if (!this.socket.destroyed) this.#timer = setTimeout(() => this.socket.destroy(), milliseconds);
  }

  /** The request in progress, by its response. */
  get #current(): PublicResponse | undefined {
    const [first] = this.#queue;
    return first instanceof PublicResponse ? first : undefined;
  }

  /** True if a further request waits, or parsed chunks, which occupy hundreds of bytes each. */
  get #isHeld(): boolean {
    const request = this.#current?.req;
    const hasUnreadChunks = request?.isChunked === true && request.readableFlowing !== true;
    return this.#queue.length > 1 || hasUnreadChunks;
  }

  #hold(): void {
    if (this.#isHeld) this.socket.pause();
  }

  #readOn(): void {
    if (this.socket.isPaused() && !this.#isHeld) this.socket.resume();
  }

  /** True unless the service works for a client that it knows. */
  get #isReplaceable(): boolean {
    const request = this.#current?.req;
    const isKnown = request !== undefined && principalOf(request) !== undefined;
    return !(this.#state === 'running' && isKnown);
  }

  get #incompleteRequest(): PublicRequest | undefined {
    const last = this.#queue.at(-1);
    return last instanceof PublicResponse && !last.req.complete ? last.req : undefined;
  }

  #failInput(exception: ContractException): void {
    // The error is in the body of a request, which has its own answer.
    if (this.#incompleteRequest !== undefined) this.#incompleteRequest.fail(exception);
    else this.refuse(exception);
  }
}

function closeOf(response: PublicResponse): Promise<unknown> {
  return new Promise((resolve) => response.once('close', resolve));
}

/** True if the connection closes after this answer: to a stranger, or to a request after which nothing can be read. */
function endsConnection(request: PublicRequest, status: number): boolean {
  const isStranger = principalOf(request) === undefined && status !== PREFLIGHT_STATUS;
  // After Upgrade, Node's parser drops input.
  const isUpgrade = request.headers.upgrade !== undefined;
  return isStranger || isUpgrade || request.hasUnreadBody || request.asksToClose;
}
