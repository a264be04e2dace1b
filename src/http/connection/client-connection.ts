import type { Socket } from 'node:net';
import { principalOf } from '../../auth/authenticated-request.js';
import { ContractException } from '../../contract/contract.exception.js';
import { logDefect } from '../../contract/log-defect.js';
import { ClientInput } from './client-input.js';
import { HeadClock } from './head-clock.js';
import { type ParserError, refusalFor } from './parser-error.js';
import type { Occupant } from './places.js';
import type { PublicRequest } from '../message/public-request.js';
import { type Answer, PublicResponse } from '../message/public-response.js';
import { type Next, writeAnswer, writeRefusal } from './write-answer.js';

/** Milliseconds for which input is read and discarded after the system has taken the last answer. */
const LINGER = 2_000;

/** Answers a request. */
export type PublicHandler = (request: PublicRequest, response: PublicResponse) => void;

type State =
  | { readonly name: 'waiting' | 'closing'; readonly response?: undefined }
  | { readonly name: 'running' | 'answering'; readonly response: PublicResponse };

/**
 * One connection of a client. Requests, and refusals of other input, wait in one queue. `#proceed` decides what comes next.
 *
 * | state     | the connection              | the timer limits                | next state                             |
 * |-----------|-----------------------------|---------------------------------|----------------------------------------|
 * | waiting   | runs nothing                | nothing                         | running; closing with a refusal        |
 * | running   | runs a request              | the body, from its first read   | answering; closing after a last answer |
 * | answering | has written an answer       | reading the answer              | waiting; closing with a refusal        |
 * | closing   | has written its last answer | reading the answer, then LINGER | none: input is discarded               |
 *
 * In each state, the connection may break.
 *
 * The timer refuses a body with 408, and otherwise destroys the socket. None runs while a request waits for its turn or for
 * its guard. Node and HeadClock time the head.
 *
 * | the refusal of | takes this way                                                                                |
 * |----------------|-----------------------------------------------------------------------------------------------|
 * | a request      | that of any answer: `send`                                                                    |
 * | its body       | the same: `refuseBody` of the request lets `readBody` throw it                                |
 * | other input    | the end of the queue; `#proceed` writes it, even while the client reads the answer before it  |
 */
export class ClientConnection implements Occupant {
  #state: State = { name: 'waiting' };
  /** When this state began. */
  since = performance.now();
  hasSucceeded = false;
  /** The timer of the state, see the table. */
  #timer: NodeJS.Timeout | undefined;
  /** Responses to the requests that wait, in order. The last entry may be a refusal. */
  readonly #queue: (PublicResponse | ContractException)[] = [];
  readonly #input: ClientInput;
  readonly #headClock: HeadClock;

  /**
   * @param handler answers a request; called for one request at a time
   * @param timeout milliseconds that the client has for a body, for a head that has waited unread, and to take an answer
   */
  constructor(
    readonly socket: Socket,
    private readonly handler: PublicHandler,
    private readonly timeout: number,
    private readonly server: { readonly isDraining: boolean },
  ) {
    // Ignores errors: `close` follows. For CONNECT, Node has removed its own listener.
    socket.on('error', () => undefined);
    socket.on('close', () => clearTimeout(this.#timer));
    this.#headClock = new HeadClock(socket, timeout, () => this.refuseLatest(new ContractException(408)));
    // Input waits while requests wait, or chunks that nothing reads: both occupy memory.
    this.#input = new ClientInput(
      socket,
      () => this.#queue.length > 0 || this.#state.response?.req.hasUnreadChunks === true,
    );
  }

  /** True while nothing has arrived that needs an answer. */
  get isIdle(): boolean {
    return this.#state.name === 'waiting' && this.#queue.length === 0;
  }

  /** True while a request of a known client runs. */
  get isInUse(): boolean {
    const { name, response } = this.#state;
    return name === 'running' && principalOf(response.req) !== undefined;
  }

  /** Resolves when the client has taken the answer that is written. */
  async answerTaken(): Promise<void> {
    const { name, response } = this.#state;
    if (name === 'answering') await new Promise((resolve) => response.once('close', resolve));
  }

  /**
   * Takes a request from Node's parser. The request waits for earlier ones: RFC 9112 §9.3.2 lets only safe methods run in
   * parallel, and POST is not safe.
   */
  acceptRequest(response: PublicResponse): void {
    response.req.client = this;
    this.#headClock.headArrived();
    if (this.#isEnding()) discardBody(response);
    else this.#enqueue(response);
  }

  /** Takes an error of Node's parser, or its report of a head that does not arrive in time. */
  acceptError(error: ParserError): void {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      this.#headClock.headIsLate();
      return;
    }
    const refusal = refusalFor(error);
    // Not an error of the parser: the connection has failed.
    if (refusal === undefined) this.socket.destroy();
    else this.refuseLatest(refusal);
  }

  /** Refuses what arrives now: the body of the last request if that is not complete, or input that is not a request. */
  refuseLatest(refusal: ContractException): void {
    if (this.#isEnding()) return;
    const last = this.#queue.at(-1) ?? this.#state.response;
    if (last instanceof PublicResponse && !last.req.complete) last.req.refuseBody(refusal);
    else this.#enqueue(refusal);
  }

  #enqueue(arrival: PublicResponse | ContractException): void {
    this.#queue.push(arrival);
    this.#proceed();
  }

  /** Decides what comes next, after the state or the queue has changed. */
  #proceed(): void {
    const [next] = this.#queue;
    const { name } = this.#state;
    if (next instanceof ContractException && name !== 'running') {
      // The last answer: it need not wait until the client has read the one before it.
      writeRefusal(this.socket, next);
      this.#close();
    } else if (next instanceof PublicResponse && name === 'waiting' && !this.socket.destroyed) {
      this.#queue.shift();
      this.#run(next);
    } else {
      this.#input.readOrPause();
    }
  }

  /** Runs a request: calls the handler, which answers it now or later. */
  #run(response: PublicResponse): void {
    this.#enter({ name: 'running', response });
    this.#input.readOrPause();
    // A response emits `close` when it has ended and the client has taken it, or when its socket closes.
    response.once('close', () => this.#goOn());
    try {
      // May answer before it returns, and so call `#proceed`.
      this.handler(response.req, response);
    } catch (error) {
      logDefect(response.req.id, error);
      // An answer may have begun, so that no other one can be sent.
      this.socket.destroy();
    }
  }

  /** Goes on to the next request when the client has taken an answer, unless it was the last one or the socket has closed. */
  #goOn(): void {
    if (this.#state.name === 'closing' || this.socket.destroyed) return;
    this.#enter({ name: 'waiting' });
    // Other connections get a turn between two requests: one packet may hold thousands.
    if (this.#queue.length > 0) setImmediate(() => this.#proceed());
    else this.#proceed();
  }

  /** Starts the timer of the body of the request that runs. Sends 100 Continue if the client waits for that. */
  startBodyTimer(): void {
    const { response } = this.#state;
    if (response === undefined || response.req.complete) return;
    if (response.awaitsContinue) response.writeContinue();
    this.#startTimer(this.timeout, () => {
      if (!response.req.complete) response.req.refuseBody(new ContractException(408));
    });
  }

  /** Sends the answer to the request that runs. */
  send(response: PublicResponse, answer: Answer): void {
    const next = this.#nextAfter(response.req, answer);
    writeAnswer(response, answer, next);
    this.hasSucceeded ||= answer.status === 200;
    if (next === 'nothing') {
      this.#close();
    } else {
      this.#enter({ name: 'answering', response });
      this.#proceed();
    }
  }

  /** Decides what follows the answer to a request. */
  #nextAfter(request: PublicRequest, answer: Answer): Next {
    if (this.server.isDraining || endsConnection(request, answer)) return 'nothing';
    return this.#queue[0] instanceof ContractException ? 'refusal' : 'request';
  }

  /** Closes the connection when its last answer is written. Requests that wait get no answer. */
  #close(): void {
    const { socket } = this;
    // The queue is empty before `discard`: its entries would pause the input again.
    const unread = [this.#state.response, ...this.#queue.splice(0)];
    this.#enter({ name: 'closing' });
    for (const arrival of unread) if (arrival instanceof PublicResponse) discardBody(arrival);
    socket.once('finish', () => this.#destroyAfter(LINGER));
    socket.end();
    this.#input.discard();
  }

  #enter(state: State): void {
    this.#state = state;
    this.since = performance.now();
    clearTimeout(this.#timer);
    if (state.name === 'answering' || state.name === 'closing') this.#destroyAfter(this.timeout);
  }

  #destroyAfter(milliseconds: number): void {
    this.#startTimer(milliseconds, () => this.socket.destroy());
  }

  #startTimer(milliseconds: number, onEnd: () => void): void {
    clearTimeout(this.#timer);
    // The timer of a destroyed socket would keep the process alive.
    if (!this.socket.destroyed) this.#timer = setTimeout(onEnd, milliseconds);
  }

  /** Returns whether the last answer is written or queued. Requests that arrive afterwards do not run. */
  #isEnding(): boolean {
    return this.#state.name === 'closing' || this.#queue.at(-1) instanceof ContractException;
  }
}

/** Discards a body that nothing reads: its chunks would occupy hundreds of bytes each, and pause the socket. */
function discardBody({ req }: PublicResponse): void {
  req.resume();
}

/** Returns whether the answer to a request is the last one: its client is unknown, or nothing can be read after it. */
function endsConnection(request: PublicRequest, { answersPreflight = false }: Answer): boolean {
  const isUnknown = principalOf(request) === undefined && !answersPreflight;
  // After Upgrade, Node's parser drops input.
  const isUpgrade = request.headers.upgrade !== undefined;
  return isUnknown || isUpgrade || request.hasUnreadBody || request.asksToClose;
}
