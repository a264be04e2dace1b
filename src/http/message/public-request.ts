import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import type { ContractException } from '../../contract/contract.exception.js';
import type { RefuseBody, TimedBody } from '../../plants/read-body.js';
import type { Answer, PublicResponse } from './public-response.js';

/** X-Request-Id values that can be logged as they are. */
const REQUEST_ID = /^[\w.~-]{1,128}$/;

/**
 * W3C Trace Context §3.2.2: version, trace-id, parent-id and flags, such as `00-<32 digits>-<16 digits>-01`. Later versions may
 * add something behind these 55 characters. Version 00 must not: `00.{54}` matches it with one character more.
 */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-.*)?$/;

const CLOSE = /(?:^|,)\s*close\s*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)\s*keep-alive\s*(?:,|$)/i;

/** The part of ClientConnection that a request and its response use. */
interface Client {
  startBodyTimer(): void;
  send(response: PublicResponse, answer: Answer): void;
}

/** A request on the public port. */
export class PublicRequest extends IncomingMessage implements TimedBody {
  /** The address that a trusted proxy names, otherwise the peer's. Set when the request runs. */
  clientAddress: string | undefined;
  /** Set when the connection takes the request. */
  client!: Client;
  /** Why the body will not be complete. */
  #refusal: ContractException | undefined;
  /** Refuses the reading of the body, once that has begun. */
  #refuseReading: RefuseBody | undefined;
  #id: string | undefined;

  /** True if there is a body, and a part of it may still arrive, or nothing has begun to read it. */
  get hasUnreadBody(): boolean {
    const { 'content-length': length = '0' } = this.headers;
    const hasBody = this.#isChunked || Number(length) > 0;
    // An empty chunked body ends without any data.
    const wasRead = this.readableDidRead || this.readableEnded;
    return hasBody && !(this.complete && wasRead);
  }

  /** True if chunks of the body pile up because nothing listens for `data`. Each chunk occupies hundreds of bytes. */
  get hasUnreadChunks(): boolean {
    return this.#isChunked && this.readableFlowing !== true;
  }

  /** True if the connection closes after the answer (RFC 9112 §9.3). Node's parser takes Proxy-Connection for Connection. */
  get asksToClose(): boolean {
    const { connection = '', 'proxy-connection': proxyConnection = '' } = this.headers;
    const options = `${connection},${String(proxyConnection)}`;
    return CLOSE.test(options) || (this.httpVersion === '1.0' && !KEEP_ALIVE.test(options));
  }

  /** The client's X-Request-Id if it is 1 to 128 characters of A-Z, a-z, 0-9 and `-._~`; otherwise a random UUID. */
  get id(): string {
    if (this.#id === undefined) {
      const given = this.headers['x-request-id'];
      this.#id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    }
    return this.#id;
  }

  /** The ids of the trace and of the caller's span, if the header `traceparent` is valid. */
  get trace(): { readonly traceId: string | undefined; readonly spanId: string | undefined } | undefined {
    const { traceparent } = this.headers;
    if (typeof traceparent !== 'string') return undefined;
    const match = TRACEPARENT.exec(traceparent);
    return match === null ? undefined : { traceId: match[1], spanId: match[2] };
  }

  get #isChunked(): boolean {
    return this.headers['transfer-encoding'] !== undefined;
  }

  beginBody(refuse: RefuseBody): void {
    this.#refuseReading = refuse;
    if (this.#refusal === undefined) this.client.startBodyTimer();
    else refuse(this.#refusal);
  }

  /** Refuses the body, which will not be complete. The refusal then takes the usual way of an answer. */
  refuseBody(refusal: ContractException): void {
    this.#refusal ??= refusal;
    this.#refuseReading?.(this.#refusal);
  }
}
