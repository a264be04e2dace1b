import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import type { ContractException } from '../contract/contract.exception.js';

/** What a client may call its request; anything else could not be told from a part of the line that it is logged in. */
const REQUEST_ID = /^[\w.~-]{1,128}$/;

/** W3C Trace Context §3.2.2: version, trace-id, parent-id, flags, and what later versions may add. */
const TRACEPARENT =
  /^(?:00-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}|(?!00|ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-.*)?)$/;

/** A request of the public port. */
export class PublicRequest extends IncomingMessage {
  /** Why the body will not be complete; see `BodySource`. */
  bodyError?: ContractException;
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

  /** Ends the reading of the body, now or whenever it begins. */
  fail(exception: ContractException): void {
    this.bodyError ??= exception;
    this.emit('bodyError', exception);
  }
}
