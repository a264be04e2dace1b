import type { OutgoingHttpHeader } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { principalOf } from '../auth/authentication.js';
import { ContractException } from '../contract/contract.exception.js';
import { logDefect } from '../contract/defect.js';
import { PREFLIGHT_STATUS } from './cross-origin.js';
import { exceptionFor, type ParserError } from './parser-error.js';
import type { PublicRequest } from './public-request.js';
import { type PublicResponse, renderRefusal } from './public-response.js';
import { RequestClock } from './request-clock.js';

/** Milliseconds for which input is still read, and discarded, after the client has the last answer. */
const LINGER = 2_000;

type State = 'waiting' | 'running' | 'answering' | 'closing';

/** Answers a request. */
export type PublicHandler = (request: PublicRequest, response: PublicResponse) => void;

/**
 * One connection of a client: one loop over the queue of its requests, which runs the first until the client has taken its
 * answer. Input that is not a request gets a refusal, which is the last answer, after those to the requests before it.
 *
 * | state     | the connection                   | next state                                                                  |
 * |-----------|----------------------------------|-----------------------------------------------------------------------------|
 * | waiting   | has nothing to answer            | `#run` enters running for a request, and closing for a refusal              |
 * | running   | has passed a request to Fastify  | `answer` enters answering, or closing if a refusal or nothing follows       |
 * | answering | waits until its answer is taken  | `#run` enters running or closing for what waits then, and otherwise waiting |
 * | closing   | sends its last answer, and a FIN | none: it discards input until the client closes, or its time is over        |
 *
 * In each state, the connection may break. A client that does not take its answer, or does not close after the last one,
 * loses its connection after some time.
 */
export class ClientConnection {
  #state: State = 'waiting';
  /** When this state began. */
  #since = performance.now();
  /** Requests, by their responses, in order; the first one is in progress. */
  readonly #queue: PublicResponse[] = [];
  /** Follows the requests in the queue. */
  #refusal: ContractException | undefined;
  /** Ends the client's time to take an answer, and to close after the last one. */
  #timer: NodeJS.Timeout | undefined;
  /** True if the client has got a 200. */
  #hasSucceeded = false;
  readonly #clock: RequestClock;

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
    socket.on('resume', () => this.#holdAgain());
    this.#clock = new RequestClock(socket, timeout, () => this.#failInput(new ContractException(408)));
  }

  /** True while nothing has arrived that needs an answer. */
  get isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  /** True while it waits for its client, or for an identity provider that has to tell who the client is. */
  get isReplaceable(): boolean {
    const [response] = this.#queue;
    const isKnown = response !== undefined && principalOf(response.req) !== undefined;
    return !(this.#state === 'running' && isKnown);
  }

  /** Returns which of two replaceable connections is replaced first: the one that never had a 200, or has waited longer. */
  isReplacedBefore(other: ClientConnection): boolean {
    if (this.#hasSucceeded !== other.#hasSucceeded) return other.#hasSucceeded;
    return this.#since < other.#since;
  }

  /** Resolves when the client has taken the answer that is written. */
  async answerTaken(): Promise<void> {
    const [response] = this.#queue;
    if (this.#state === 'answering' && response !== undefined) await closeOf(response);
  }

  /** Takes a request from Node's parser. Only safe methods could run in parallel (RFC 9112 §9.3.2). */
  accept(response: PublicResponse): void {
    response.client = this;
    this.#clock.noteHeaders(response.req);
    if (this.#discardsInput) {
      discardBody(response);
      return;
    }
    this.#queue.push(response);
    this.#wake();
  }

  /** Refuses input that the parser rejected, or that did not arrive in time. */
  fail(error: ParserError): void {
    const exception = exceptionFor(error);
    if (exception === undefined) this.socket.destroy();
    else if (exception.error === 408) this.#clock.report(this.#incompleteRequest);
    else this.#failInput(exception);
  }

  /** Refuses input that is not a request, after the answers in progress, and closes the connection. */
  refuse(exception: ContractException): void {
    if (this.#discardsInput) return;
    this.#refusal = exception;
    this.#wake();
  }

  /** Answers a request with an error. */
  answerError(response: PublicResponse, exception: ContractException): void {
    this.answer(response, 400, exception.getResponse(), exception.headers);
  }

  /** Answers a request with JSON, and decides what follows. Each answer to a request leaves through this function. */
  answer(
    response: PublicResponse,
    status: number,
    body: object | undefined,
    headers: Readonly<Record<string, OutgoingHttpHeader | undefined>>,
  ): void {
    const isLast = this.server.isDraining || endsConnection(response.req, status);
    // A refusal follows the requests, and no last answer.
    const nextRefusal = isLast || this.#queue.length > 1 ? undefined : this.#refusal;
    response.send(status, body, headers, isLast);
    this.#hasSucceeded ||= status === 200;
    if (isLast || nextRefusal !== undefined) {
      // Without the end of the response, at which Node would close the socket: after a last answer with a reset if the
      // client still sends, and before the refusal if the client has half-closed.
      this.#close(nextRefusal);
    } else {
      this.#enter('answering');
      response.end();
    }
  }

  #enter(state: State): void {
    this.#state = state;
    this.#since = performance.now();
    clearTimeout(this.#timer);
    if (state === 'answering' || state === 'closing') this.#closeAfter(this.timeout);
  }

  /** True if what arrives now is not run, because it would follow a last answer. */
  get #discardsInput(): boolean {
    return this.#state === 'closing' || this.#refusal !== undefined;
  }

  /** Lets the loop take what has arrived: now, or after the request in progress. */
  #wake(): void {
    if (this.#state === 'waiting') void this.#run();
    else this.#readOrHold();
  }

  async #run(): Promise<void> {
    while (!this.socket.destroyed) {
      const [response] = this.#queue;
      if (response === undefined) {
        if (this.#refusal === undefined) this.#enter('waiting');
        else this.#close(this.#refusal);
        this.#readOrHold();
        return;
      }
      this.#enter('running');
      this.#readOrHold();
      const closed = closeOf(response);
      try {
        this.handle(response.req, response);
      } catch (error) {
        logDefect(response.req.id, error);
        // Nothing is known of the answer, not even whether it has begun.
        this.socket.destroy();
      }
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
    this.#enter('closing');
    if (refusal !== undefined) socket.write(renderRefusal(refusal, socket.remoteAddress));
    for (const response of this.#queue.splice(0)) discardBody(response);
    socket.once('finish', () => this.#closeAfter(LINGER)).end();
    detachParser(socket);
  }

  #closeAfter(milliseconds: number): void {
    clearTimeout(this.#timer);
    // A timer would keep the process alive.
    if (!this.socket.destroyed) this.#timer = setTimeout(() => this.socket.destroy(), milliseconds);
  }

  #readOrHold(): void {
    if (this.#isHeld) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Pauses the socket again if Node has resumed it: at the end of a message, when something reads a body, or when the client
   * has taken what Node waited for.
   */
  #holdAgain(): void {
    if (this.#isHeld) this.socket.pause();
  }

  /**
   * True while the socket must stay paused: something waits behind the request in progress, or parsed chunks do, which
   * occupy hundreds of bytes each.
   */
  get #isHeld(): boolean {
    const [response] = this.#queue;
    if (response === undefined) return false;
    const hasUnreadChunks = response.req.isChunked && response.req.readableFlowing !== true;
    return hasUnreadChunks || this.#queue.length > 1 || this.#refusal !== undefined;
  }

  get #incompleteRequest(): PublicRequest | undefined {
    const request = this.#queue.at(-1)?.req;
    return request?.complete === false ? request : undefined;
  }

  #failInput(exception: ContractException): void {
    const request = this.#incompleteRequest;
    // The error is in the body of a request, which has its own answer.
    if (request === undefined) this.refuse(exception);
    else request.fail(exception);
  }
}

function closeOf(response: PublicResponse): Promise<unknown> {
  return new Promise((resolve) => response.once('close', resolve));
}

/**
 * Discards further input before Node's parser spends time and memory on it; Node does the same for Upgrade. It waits for
 * `resume`, because a paused socket is only read again by the parser's own listener for it.
 */
function detachParser(socket: Socket): void {
  socket.once('resume', () => socket.removeAllListeners('data').on('data', () => undefined));
  // A socket that is not paused would not emit `resume`.
  socket.pause().resume();
}

/** Discards a body that nothing reads: its chunks would occupy hundreds of bytes each, and pause the socket. */
function discardBody({ req }: PublicResponse): void {
  req.resume();
}

/** True if the connection closes after this answer: to a stranger, or to a request after which nothing can be read. */
function endsConnection(request: PublicRequest, status: number): boolean {
  const isStranger = principalOf(request) === undefined && status !== PREFLIGHT_STATUS;
  // After Upgrade, Node's parser drops input.
  const isUpgrade = request.headers.upgrade !== undefined;
  return isStranger || isUpgrade || request.hasUnreadBody || request.asksToClose;
}
