import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { ContractException } from '../contract/contract.exception.js';
import { exceptionFor, isInRequestLine, type ParserError } from './parser-error.js';
import type { PublicRequest } from './public-request.js';
import { type PublicResponse, refuseInput } from './public-response.js';

/** Milliseconds for which input is still read, and discarded, after the last response. */
const LINGER = 2_000;

/** Bytes that are read ahead of the parser while it waits for a response. */
const READ_AHEAD = 16_384;

/**
 * Bytes that the parser gets at once; more only up to the next blank line, which ends the headers of a request. A packet
 * may hold thousands of requests, and each of them occupies kilobytes once it is parsed.
 */
const PORTION = 512;

const BLANK_LINE = '\r\n\r\n';

/** Bytes at the beginning of a line that tell a header from a request line. */
const LINE_BEGINNING = 64;

/** Answers a request. */
export type PublicHandler = (request: PublicRequest, response: PublicResponse) => void;

/** A request that the parser has read, and its response. */
interface Exchange {
  readonly request: PublicRequest;
  readonly response: PublicResponse;
  /** Node's parser and server are done with the connection, as they are after CONNECT. */
  readonly isDetached: boolean;
}

/**
 * One connection of a client, between its socket and Node's HTTP parser.
 *
 * Node takes any Duplex for a connection (`http.Server`, event `connection`). This one hands the parser one request
 * after another, answers input that is not HTTP in its turn, and closes in stages, so that the client can read the last
 * answer.
 */
export class Connection extends Duplex {
  readonly #socket: Socket;
  readonly #handle: PublicHandler;
  /** In the order of their answers; the first one is in progress. */
  readonly #exchanges: Exchange[] = [];
  /** Input that waits for the parser. */
  #unparsed: Buffer[] = [];
  #unparsedBytes = 0;
  #hasEnded = false;
  /** The refusal that follows the exchanges, as the last answer. */
  #refusal: ContractException | undefined;
  /** No more requests are taken: input is read and discarded. */
  #discardsInput = false;
  #isDraining = false;
  #writingSince: number | undefined;
  /** The beginning of the line that the parser is in. */
  #line = '';

  /**
   * @param keepAliveTimeout milliseconds between two requests, for the Keep-Alive header
   * @param handle answers a request; called for one request at a time
   */
  constructor(
    socket: Socket,
    readonly keepAliveTimeout: number,
    handle: PublicHandler,
  ) {
    // The `close` event of the socket destroys this stream.
    super({ decodeStrings: false, autoDestroy: false });
    this.#socket = socket;
    this.#handle = handle;
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
    this.#exchanges.push({ request, response, isDetached });
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
    setImmediate(() => setImmediate(() => this.#exchanges.length === 0 && this.end()));
  }

  /** Ends the connection of a client that has not taken an answer for so many milliseconds. */
  destroyIfUnread(milliseconds: number): void {
    if (this.#writingSince !== undefined && performance.now() - this.#writingSince > milliseconds) this.destroy();
  }

  #start(): void {
    const [exchange] = this.#exchanges;
    if (exchange === undefined) return;
    // For CONNECT, Node (20 to 26) creates no response. `assignSocket` is in its types, but not in its documentation.
    if (exchange.isDetached) exchange.response.assignSocket(this as unknown as Socket);
    this.#handle(exchange.request, exchange.response);
  }

  #finished(): void {
    const exchange = this.#exchanges.shift();
    if (exchange?.isDetached === true) {
      exchange.response.detachSocket(this as unknown as Socket);
      this.end();
    }
    // Node ends the connection after a response with `Connection: close`: the requests after it have no effect.
    if (this.writableEnded) return;
    if (this.#exchanges.length > 0) this.#start();
    else if (this.#refusal !== undefined) this.#sendRefusal();
    else if (this.#isDraining) this.end();
    this.#feed();
  }

  #sendRefusal(): void {
    if (this.#refusal !== undefined && !this.writableEnded) {
      this.end(refuseInput(this.#refusal, this.remoteAddress), 'utf8');
    }
  }

  #discardInput(): void {
    this.#discardsInput = true;
    this.#unparsed = [];
    this.#unparsedBytes = 0;
    this.#socket.resume();
  }

  #receive(chunk: Buffer): void {
    if (this.#discardsInput) return;
    this.#unparsed.push(chunk);
    this.#unparsedBytes += chunk.length;
    this.#feed();
    if (this.#unparsedBytes > READ_AHEAD) this.#socket.pause();
  }

  /** Hands input to the parser, unless requests wait for their turn or Node has paused the stream for a body. */
  #feed(): void {
    while (!this.isPaused() && this.#exchanges.length < 2 && !this.#discardsInput) {
      const portion = this.#takePortion();
      if (portion === undefined) {
        if (this.#socket.isPaused()) this.#socket.resume();
        this.#feedEnd();
        return;
      }
      this.push(portion);
      this.#noteLine(portion);
    }
  }

  /** Takes input of PORTION bytes or more, up to a blank line, which ends the head of a request. */
  #takePortion(): Buffer | undefined {
    const chunk = this.#unparsed.shift();
    if (chunk === undefined) return undefined;
    const blankLine = chunk.length > PORTION ? chunk.indexOf(BLANK_LINE, PORTION) : -1;
    const length = blankLine < 0 ? chunk.length : blankLine + BLANK_LINE.length;
    if (length < chunk.length) this.#unparsed.unshift(chunk.subarray(length));
    this.#unparsedBytes -= length;
    return chunk.subarray(0, length);
  }

  /** Tells the parser that the input has ended, but not before complete requests are answered: Node would then close. */
  #feedEnd(): void {
    if (!this.#hasEnded || this.#exchanges.at(-1)?.request.complete === true) return;
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

  override _write(chunk: Buffer | string, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this._writev([{ chunk, encoding }], callback);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    this.#writingSince = performance.now();
    const done = (error?: Error | null): void => {
      this.#writingSince = undefined;
      callback(error);
    };
    // Node ends an answer with an empty chunk, which would cost a system call.
    const parts = chunks.filter(({ chunk }) => chunk.length > 0);
    const last = parts.pop();
    if (last === undefined) {
      done();
      return;
    }
    if (parts.length > 0) this.#socket.cork();
    for (const { chunk, encoding } of parts) this.#socket.write(chunk, encoding);
    this.#socket.write(last.chunk, last.encoding, done);
    this.#socket.uncork();
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
    this.#socket.destroy();
    callback(error);
  }
}
