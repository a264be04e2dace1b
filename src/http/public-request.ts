import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import type { ContractException } from '../errors/contract.exception.js';
import { gone } from '../plants/plant-request.js';

/** What a client may call its request; anything else could not be told from a part of the line that it is logged in. */
const REQUEST_ID = /^[\w.~-]{1,128}$/;

/** W3C Trace Context §3.2.2: version, trace-id, parent-id, flags, and what later versions may add. */
const TRACEPARENT =
  /^(?:00-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}|(?!00|ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-.*)?)$/;

/** Bytes of a body that are kept before somebody reads it; the rest waits in the connection. */
const MAX_EARLY = 16_384;

/** Who is told of a body as it comes. */
export interface BodyReader {
  chunk(bytes: Uint8Array): void;
  /** That was all of it; or, with an exception, the rest will not come. */
  end(exception?: ContractException): void;
}

/** Of a body that nobody reads. */
const NOBODY: BodyReader = { chunk: () => undefined, end: () => undefined };

/**
 * A request whose body is handed on where the parser has it. A stream would keep it for later turns of the event loop,
 * at the price of a fifth of what Node needs for a request.
 */
export class PublicRequest extends IncomingMessage {
  static {
    // What lets Node's server forget the request; its type is that of a field, which no accessor may override.
    Object.defineProperty(this.prototype, 'readableEnded', {
      get(this: PublicRequest) {
        return this.complete;
      },
    });
  }

  /** The client waits for `100 Continue` before it sends its body (RFC 9110 §10.1.1). */
  awaitsContinue = false;
  /** Why the body will not be complete. */
  #failure: ContractException | undefined;
  #reader: BodyReader | undefined;
  /** What came before there was a reader. */
  readonly #early: Uint8Array[] = [];
  #earlyBytes = 0;
  #id: string | undefined;

  /** The client's X-Request-Id where it is a sane one, and else a random one: 1 … 128 of A-Z, a-z, 0-9 and `-._~`. */
  get id(): string {
    if (this.#id === undefined) {
      const given = this.headers['x-request-id'];
      this.#id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    }
    return this.#id;
  }

  /** The ids of the trace and of the caller's span in it, where the header `traceparent` is a valid one. */
  get trace(): { readonly traceId: string | undefined; readonly spanId: string | undefined } | undefined {
    const { traceparent } = this.headers;
    if (typeof traceparent !== 'string') return undefined;
    const match = TRACEPARENT.exec(traceparent);
    return match === null ? undefined : { traceId: match[1] ?? match[3], spanId: match[2] ?? match[4] };
  }

  /** Reads the body, once; the reader may be told all of it before this returns. */
  readBody(reader: BodyReader): void {
    this.#reader = reader;
    for (const chunk of this.#early.splice(0)) reader.chunk(chunk);
    if (this.complete || this.#failure !== undefined) this.#end(this.complete ? undefined : this.#failure);
    // The connection may have been stopped.
    else this._read(0);
  }

  /** Ends the reading of the body, now or whenever it begins. */
  fail(exception: ContractException): void {
    this.#failure ??= exception;
    this.#end(exception);
  }

  /** The connection keeps its last request, which may rest for long, and is not to keep a body. */
  #end(exception?: ContractException): void {
    this.#reader?.end(exception);
    if (this.#reader !== undefined) this.#reader = NOBODY;
  }

  /** What the parser calls: with a part of the body, and with null where it ends. */
  override push(chunk: Uint8Array | null): boolean {
    if (chunk === null) {
      this.#end();
      return false;
    }
    if (this.#reader !== undefined) {
      this.#reader.chunk(chunk);
      return true;
    }
    this.#early.push(chunk);
    this.#earlyBytes += chunk.length;
    return this.#earlyBytes < MAX_EARLY;
  }

  /** What Node's server calls where nobody has read the body, and nobody will. */
  override resume(): this {
    this.#reader ??= NOBODY;
    this.#early.length = 0;
    return this.complete ? this : super.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.complete) this.fail(gone());
    super._destroy(error, callback);
  }
}
