import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { principalOf } from '../../auth/request-principal.js';
import { ContractException } from '../../contract/contract.exception.js';
import { logDefect } from '../../contract/log-defect.js';
import { ClientInput } from './client-input.js';
import type { OpenConnection } from './open-connections.js';
import { exceptionFor, type ParserError } from './parser-error.js';
import type { PublicRequest } from '../message/public-request.js';
import type { Answer, PublicHandler, PublicResponse } from '../message/public-response.js';
import { writeAnswer, writeRefusal } from '../message/write-answer.js';

/** Milliseconds for which input is still read, and discarded, after the client has the last answer. */
const LINGER = 2_000;

type State = 'waiting' | 'running' | 'answering' | 'closing';

/**
 * One connection of a client: one loop over its requests, and behind them the refusal of input that is none. It runs the
 * first request until the client has taken its answer.
 *
 * | state     | the connection                   | next state                                                           |
 * |-----------|----------------------------------|----------------------------------------------------------------------|
 * | waiting   | has nothing to answer            | running: `#run`, for a request                                       |
 * | running   | has passed a request to Fastify  | answering: `send`; closing after a last answer                       |
 * | answering | waits until its answer is taken¹ | running: `#run`, for the next request; waiting if there is none      |
 * | closing   | sends its last answer, and a FIN | none: it discards input until the client closes, or its time is over |
 *
 * ¹ and, if requests wait behind it, until other connections had their turns.
 *
 * A refusal is sent as soon as no request is before it: by `refuseInput` at once, or by `send` directly after the answer to
 * the last of these requests. It does not wait until that answer is taken, because the response would have to end for that:
 * Node would then close the socket of a client that has half-closed.
 *
 * In each state, the connection may break. A client that does not take its answer, or does not close after the last one,
 * loses its connection after some time.
 */
export class ClientConnection implements OpenConnection {
  #state: State = 'waiting';
  /** When this state began. */
  #since = performance.now();
  /** The response to the request that runs, or whose answer the client takes. */
  #current: PublicResponse | undefined;
  /** The responses to the requests behind it, in order. */
  readonly #queue: PublicResponse[] = [];
  /** The refusal of what follows these requests. It is the last answer. */
  #refusal: ContractException | undefined;
  /** Ends the client's time to take an answer, and to close after the last one. */
  #timer: NodeJS.Timeout | undefined;
  #hasSucceeded = false;
  readonly #input: ClientInput;

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
    const mustPause = (): boolean => this.#mustPause;
    this.#input = new ClientInput(socket, timeout, mustPause, () => this.#refuseIncomplete(new ContractException(408)));
  }

  /** True while nothing has arrived that needs an answer. */
  get isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  /** True while it runs a request of a known client. Otherwise it waits for its client, or for an identity provider. */
  get isInUse(): boolean {
    return this.#state === 'running' && this.#current !== undefined && principalOf(this.#current.req) !== undefined;
  }

  get since(): number {
    return this.#since;
  }

  get hasSucceeded(): boolean {
    return this.#hasSucceeded;
  }

  /** Resolves when the client has taken the answer that is written. */
  async answerTaken(): Promise<void> {
    if (this.#state === 'answering' && this.#current !== undefined) await closeOf(this.#current);
  }

  /** Takes a request from Node's parser. Only safe methods could run in parallel (RFC 9112 §9.3.2). */
  acceptRequest(response: PublicResponse): void {
    response.client = this;
    this.#input.noteHeaders(response.req);
    if (this.#discardsInput) {
      discardBody(response);
    } else {
      this.#queue.push(response);
      if (this.#state === 'waiting') void this.#run();
      else this.#input.readOrPause();
    }
  }

  /** Refuses input that is not a request, after the answers to the requests before it. */
  refuseInput(exception: ContractException): void {
    if (this.#discardsInput) return;
    this.#refusal = exception;
    if (this.#state !== 'running' && this.#queue.length === 0) this.#sendRefusal(exception);
    else this.#input.readOrPause();
  }

  /** Takes an error of Node's parser, or its report of input that does not arrive in time. */
  refuseError(error: ParserError): void {
    const exception = exceptionFor(error);
    if (exception === undefined) this.socket.destroy();
    else if (exception.error === 408) this.#input.reportLate(this.#incompleteRequest);
    else this.#refuseIncomplete(exception);
  }

  /** Sends the answer to a request, and decides what follows. Each answer to a request leaves through this function. */
  send(response: PublicResponse, answer: Answer): void {
    const isLast = this.server.isDraining || endsConnection(response.req);
    const refusal = this.#queue.length === 0 ? this.#refusal : undefined;
    // Before the connection closes, its response must not end: see `#close`.
    writeAnswer(response, answer, { isLast, ends: !isLast && refusal === undefined });
    this.#hasSucceeded ||= answer.status === 200;
    if (isLast) this.#close();
    else if (refusal !== undefined) this.#sendRefusal(refusal);
    else this.#enter('answering');
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

  /** Runs the requests that have arrived, one after another. */
  async #run(): Promise<void> {
    while (this.#state !== 'closing' && !this.socket.destroyed) {
      const next = this.#queue.shift();
      this.#current = next;
      this.#enter(next === undefined ? 'waiting' : 'running');
      this.#input.readOrPause();
      if (next === undefined) return;
      const closed = closeOf(next);
      this.#pass(next);
      await closed;
      this.#current = undefined;
      // One packet may hold thousands of requests: other connections have their turns between them.
      if (this.#queue.length > 0) await setImmediate();
    }
  }

  /** Passes a request to its handler. */
  #pass(response: PublicResponse): void {
    try {
      this.handle(response.req, response);
    } catch (error) {
      logDefect(response.req.id, error);
      // Nothing is known of the answer, not even whether it has begun.
      this.socket.destroy();
    }
  }

  /** Sends the refusal, which is the last answer. */
  #sendRefusal(refusal: ContractException): void {
    writeRefusal(this.socket, refusal);
    this.#close();
  }

  /**
   * Closes the connection, whose last answer is written. The response does not end: Node would then close the socket, with a
   * reset if the client still sends. So `#run` waits for it until the socket has closed.
   */
  #close(): void {
    const { socket } = this;
    this.#enter('closing');
    if (this.#current !== undefined) discardBody(this.#current);
    this.#queue.forEach(discardBody);
    this.#current = undefined;
    this.#queue.length = 0;
    this.#refusal = undefined;
    socket.once('finish', () => this.#closeAfter(LINGER));
    socket.end();
    this.#input.discard();
  }

  #closeAfter(milliseconds: number): void {
    clearTimeout(this.#timer);
    // A timer would keep the process alive.
    if (!this.socket.destroyed) this.#timer = setTimeout(() => this.socket.destroy(), milliseconds);
  }

  /**
   * True while input must wait: something waits behind the request in progress, or chunks of its body do, each of which
   * occupies hundreds of bytes.
   */
  get #mustPause(): boolean {
    const isBehind = this.#queue.length > 0 || this.#refusal !== undefined;
    return isBehind || (this.#current !== undefined && hasUnreadChunks(this.#current.req));
  }

  get #incompleteRequest(): PublicRequest | undefined {
    const last = this.#queue.at(-1) ?? this.#current;
    return last?.req.complete === false ? last.req : undefined;
  }

  /** Refuses the body that the input ends in, and so its request; or the input that is no request. */
  #refuseIncomplete(exception: ContractException): void {
    const request = this.#incompleteRequest;
    if (request === undefined) this.refuseInput(exception);
    else request.destroy(exception);
  }
}

function closeOf(response: PublicResponse): Promise<unknown> {
  return new Promise((resolve) => response.once('close', resolve));
}

/** Returns whether nothing takes the chunks of a body as they arrive, as a listener for `data` does (`collectBody`). */
function hasUnreadChunks(request: PublicRequest): boolean {
  return request.isChunked && request.readableFlowing !== true;
}

/** Discards a body that nothing reads: its chunks would occupy hundreds of bytes each, and pause the socket. */
function discardBody({ req }: PublicResponse): void {
  req.resume();
}

/** True if the connection closes after this answer: to a stranger, or to a request after which nothing can be read. */
function endsConnection(request: PublicRequest): boolean {
  const isStranger = principalOf(request) === undefined && !request.needsNoToken;
  // After Upgrade, Node's parser drops input.
  const isUpgrade = request.headers.upgrade !== undefined;
  return isStranger || isUpgrade || request.hasUnreadBody || request.asksToClose;
}
