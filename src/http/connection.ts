import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { principalOf } from '../auth/principal.js';
import type { ContractException } from '../contract/contract.exception.js';
import { type AnswerPart, AnswerWriter } from './answer-writer.js';
import type { Connections } from './connections.js';
import { exceptionFor, isInRequestLine, type ParserError } from './parser-error.js';
import type { PublicRequest } from './public-request.js';
import { type PublicResponse, refuseInput } from './public-response.js';
import type { Turns, TurnTaker } from './turns.js';
import { type Part, UnparsedInput } from './unparsed-input.js';

/** Milliseconds for which input is still read, and discarded, after the last response. */
const LINGER = 2_000;

/** Bytes of memory for input that is read ahead of the parser; beyond this, the socket is not read. */
const READ_AHEAD = 16_384;

/** Bytes of memory for each byte of an incomplete head: short headers occupy more than long ones. */
const HEAD_COST = 16;

/** Bytes of memory for an incomplete head, at most: the server limits the size and the number of headers. */
const MAX_HEAD_COST = 32_768;

/** Bytes at the beginning of a line that tell a header from a request line. */
const LINE_BEGINNING = 64;

/** Answers after which a connection waits for its turn: a packet may hold thousands of requests. */
const MAX_ANSWERS = 8;

/** Answers a request. */
export type PublicHandler = (request: PublicRequest, response: PublicResponse) => void;

/** A request that the parser has read, and its response. */
interface Exchange {
  readonly request: PublicRequest;
  readonly response: PublicResponse;
  /** Node's parser and server are done with the connection, as they are after CONNECT. */
  readonly isDetached: boolean;
  readonly isChunked: boolean;
}

/**
 * One connection of a client, between its socket and Node's HTTP parser.
 *
 * Node takes any Duplex for a connection (`http.Server`, event `connection`). This one hands the parser one request
 * after another, answers input that is not HTTP in its turn, and closes in stages, so that the client can read the last
 * answer.
 */
export class Connection extends Duplex implements TurnTaker {
  readonly #socket: Socket;
  readonly #answers: AnswerWriter;
  readonly #handle: PublicHandler;
  readonly #connections: Connections;
  readonly #turns: Turns;
  /** In the order of their answers. */
  readonly #exchanges: Exchange[] = [];
  /** The first exchange is in progress. */
  #isInProgress = false;
  #answered = 0;
  /** Nothing more is done until its turn. */
  #waitsForTurn = false;
  readonly #unparsed = new UnparsedInput();
  /** Bytes of the head that the parser is in. */
  #headBytes = 0;
  /** Bytes that were reported last. */
  #held = 0;
  #isWaiting: boolean | undefined = true;
  #hasEnded = false;
  /** The refusal that follows the exchanges, as the last answer. */
  #refusal: ContractException | undefined;
  /** No more requests are taken: input is read and discarded. */
  #discardsInput = false;
  #isDraining = false;
  /** The beginning of the line that the parser is in. */
  #line = '';

  /**
   * @param keepAliveTimeout milliseconds between two requests, for the Keep-Alive header
   * @param handle answers a request; called for one request at a time
   * @param connections learns what this connection holds, and when it waits for its client
   * @param turns shares the time of the event loop
   */
  constructor(
    socket: Socket,
    readonly keepAliveTimeout: number,
    handle: PublicHandler,
    connections: Connections,
    turns: Turns,
  ) {
    // The `close` event of the socket destroys this stream.
    super({ decodeStrings: false, autoDestroy: false });
    this.#socket = socket;
    this.#answers = new AnswerWriter(socket);
    this.#handle = handle;
    this.#connections = connections;
    this.#turns = turns;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => {
      this.#hasEnded = true;
      this.#feed();
    });
    socket.on('timeout', () => this.emit('timeout'));
    // No handling needed: `close` follows.
    socket.on('error', () => undefined);
    this.on('error', () => undefined);
    // After this first call of `_read`, a stream that flows passes each chunk on within `push`.
    this.read(0);
    this.on('resume', () => this.#feed());
    socket.on('close', () => this.destroy());
  }

  /** True if the connection closes after the response in progress. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** Closes the connection after so many milliseconds without input; Node's server calls it between two requests. */
  setTimeout(milliseconds: number): this {
    this.#socket.setTimeout(milliseconds);
    return this;
  }

  /**
   * Takes a request from the parser. Requests are answered one at a time: only those with safe methods could be answered
   * in parallel (RFC 9112 §9.3.2).
   */
  accept(request: PublicRequest, response: PublicResponse, isDetached = false): void {
    if (isDetached) this.#discardInput();
    response.once('finish', () => this.#finished());
    const { 'transfer-encoding': coding, 'content-length': length } = request.headers;
    const isChunked = coding !== undefined;
    // The parser gets most of a body when something reads it.
    if (isChunked || length !== undefined) {
      request.once('resume', () => {
        this.#notePrincipal(request);
        this.#feed();
      });
    }
    this.#exchanges.push({ request, response, isDetached, isChunked });
    this.#headBytes = 0;
    if (this.#exchanges.length === 1) this.#start();
  }

  /** Refuses input that the parser rejected, or that did not arrive in time. */
  fail(error: ParserError): void {
    const last = this.#exchanges.at(-1);
    // The error is in the body of a request, which has its own answer.
    if (last?.request.complete === false) {
      this.#discardInput();
      last.request.fail(exceptionFor(error, false));
    } else this.refuse(exceptionFor(error, isInRequestLine(error, this.#line)));
  }

  /** Answers with a refusal after the exchanges in progress, and closes the connection. */
  refuse(exception: ContractException): void {
    this.#refusal ??= exception;
    this.#discardInput();
    if (this.#exchanges.length === 0) this.#sendRefusal();
  }

  /** Closes the connection when everything that was received on it is answered. */
  drain(): void {
    this.#isDraining = true;
    // Node reads what the operating system has received before the second of these callbacks.
    setImmediate(() => setImmediate(() => this.#unparsed.isEmpty && this.#endIfDrained()));
  }

  /** Ends the connection of a client that has not taken an answer for so many milliseconds. */
  destroyIfUnread(milliseconds: number): void {
    if (this.#answers.duration > milliseconds) this.destroy();
  }

  #start(): void {
    const [exchange] = this.#exchanges;
    if (exchange === undefined || this.#isInProgress || this.destroyed) return;
    this.#isInProgress = true;
    this.#report();
    // For CONNECT, Node (20 to 26) creates no response. `assignSocket` is in its types, but not in its documentation.
    if (exchange.isDetached) exchange.response.assignSocket(this as unknown as Socket);
    this.#handle(exchange.request, exchange.response);
  }

  #finished(): void {
    const exchange = this.#exchanges.shift();
    this.#isInProgress = false;
    if (exchange?.isDetached === true) {
      exchange.response.detachSocket(this as unknown as Socket);
      this.end();
    }
    if (exchange !== undefined) this.#notePrincipal(exchange.request);
    // The time for which it waits, or holds memory, begins again.
    this.#isWaiting = undefined;
    this.#held = 0;
    this.#connections.setHeld(this, 0);
    this.#report();
    // Node ends the connection after a response with `Connection: close`: the requests after it have no effect.
    if (this.writableEnded) return;
    this.#answered += 1;
    const isLast = this.#exchanges.length === 0 && this.#unparsed.isEmpty;
    if (isLast || this.#answered % MAX_ANSWERS > 0) this.#continue();
    else this.#waitForTurn();
  }

  #waitForTurn(): void {
    this.#waitsForTurn = true;
    this.#turns.wait(this);
  }

  /** Goes on with the next request, or with the body of the request in progress. */
  takeTurn(): void {
    this.#waitsForTurn = false;
    if (!this.#isInProgress) this.#continue();
    else this.#feed(true);
  }

  #continue(): void {
    if (this.#exchanges.length > 0) this.#start();
    else if (this.#refusal !== undefined) this.#sendRefusal();
    else {
      this.#feed();
      this.#endIfDrained();
    }
  }

  #endIfDrained(): void {
    if (this.#isDraining && this.#exchanges.length === 0) this.end();
  }

  #sendRefusal(): void {
    if (this.#refusal !== undefined && !this.writableEnded) {
      this.end(refuseInput(this.#refusal, this.remoteAddress), 'utf8');
    }
  }

  #discardInput(): void {
    this.#discardsInput = true;
    this.#unparsed.clear();
    this.#headBytes = 0;
    this.#report();
    this.#socket.resume();
  }

  #receive(chunk: Buffer): void {
    if (this.#discardsInput) return;
    this.#unparsed.add(chunk);
    this.#feed();
    if (this.#unparsed.cost + this.#unreadBytes > READ_AHEAD) this.#socket.pause();
  }

  #notePrincipal(request: PublicRequest): void {
    const principal = principalOf(request);
    if (principal !== undefined) this.#connections.setPrincipal(this, principal.name);
  }

  /** Hands input to the parser, as long as it can be used. */
  #feed(hasTurn = false): void {
    for (let part = this.#nextPart(hasTurn); part !== undefined; part = this.#nextPart(hasTurn)) {
      const portion = this.#unparsed.take(part);
      if (portion === undefined) {
        if (this.#unparsed.isEmpty) this.#feedEnd();
        break;
      }
      this.#headBytes += portion.length;
      this.push(portion);
      // The rest of a portion with a request is short.
      if (this.#exchanges.length > 0) this.#headBytes = 0;
      this.#noteLine(portion);
      const isChunked = part === 'chunks' || part === 'chunks in turn';
      if (isChunked && !this.#unparsed.isEmpty && !this.#discardsInput) this.#waitForTurn();
    }
    this.#report();
  }

  /** Returns the part of a message that the parser can take now, or undefined if it has to wait. */
  #nextPart(hasTurn: boolean): Part | undefined {
    if (this.#waitsForTurn || this.#discardsInput || this.destroyed || this.writableEnded) return undefined;
    // Node pauses the stream for a body that is not read.
    if (this.isPaused()) return undefined;
    const exchange = this.#exchanges.at(-1);
    if (exchange === undefined) return 'head';
    const { request, isChunked } = exchange;
    if (request.complete) return undefined;
    if (!isChunked) return 'body';
    if (request.readableFlowing === true) return hasTurn ? 'chunks in turn' : 'chunks';
    // Each chunk that is parsed but not read occupies hundreds of bytes, though it may have a single byte.
    return request.readableLength === 0 ? 'unread chunks' : undefined;
  }

  /** Bytes of a body that the parser has read, but nothing else. */
  get #unreadBytes(): number {
    return this.#exchanges.at(-1)?.request.readableLength ?? 0;
  }

  /** Reports what this connection holds, and whether it waits for its client. */
  #report(): void {
    if (this.destroyed) return;
    const answer = this.#answers.untaken;
    const isWaiting = this.#exchanges.length === 0 || answer > 0;
    if (isWaiting !== this.#isWaiting) {
      this.#isWaiting = isWaiting;
      if (isWaiting) this.#connections.setWaiting(this);
      else this.#connections.setInUse(this);
    }
    const head = Math.min(this.#headBytes * HEAD_COST, MAX_HEAD_COST);
    const held = this.#unparsed.cost + this.#unreadBytes + head + answer;
    if (held === this.#held) return;
    this.#held = held;
    this.#connections.setHeld(this, held);
  }

  /** Reads on, or tells the parser that the input has ended. Before complete requests are answered, Node would close. */
  #feedEnd(): void {
    if (this.#socket.isPaused()) this.#socket.resume();
    if (!this.#hasEnded) return;
    this.#hasEnded = false;
    this.push(null);
  }

  #noteLine(chunk: Buffer): void {
    const start = chunk.lastIndexOf('\n') + 1;
    if (start > 0) this.#line = '';
    if (this.#line.length < LINE_BEGINNING) {
      this.#line += chunk.toString('latin1', start, start + LINE_BEGINNING - this.#line.length);
    }
  }

  override _read(): void {
    // Input is pushed as it comes, see `#feed`.
  }

  override _write(
    chunk: AnswerPart['chunk'],
    encoding: BufferEncoding,
    callback: (error?: Error | null) => void,
  ): void {
    this._writev([{ chunk, encoding }], callback);
  }

  override _writev(parts: readonly AnswerPart[], callback: (error?: Error | null) => void): void {
    this.#answers.write(parts, (error) => {
      this.#report();
      callback(error);
    });
    this.#report();
  }

  /** Closes in stages (RFC 9112 §9.6): a reset because of unread input would discard the last answer at the client. */
  override _final(callback: () => void): void {
    this.#discardInput();
    this.#socket.end();
    const timer = setTimeout(() => this.#socket.destroy(), LINGER);
    this.#socket.once('close', () => clearTimeout(timer));
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#turns.remove(this);
    // Requests stay in memory until their handlers are done with them, as long as refusals are delayed.
    this.#unparsed.clear();
    for (const { request } of this.#exchanges) if (!request.complete) request.read();
    this.#socket.destroy();
    callback(error);
  }
}
