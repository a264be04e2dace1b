import { channel } from 'node:diagnostics_channel';
import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { principalOf } from '../auth/principal.js';
import type { ContractException } from '../contract/contract.exception.js';
import type { ErrorNumber } from '../contract/error-table.js';
import type { PublicRequest } from './public-request.js';

/** One message for every answer of the public port. */
export const REQUEST = 'plant-store:request';

/** What the channel `plant-store:request` carries. */
export interface RequestMessage {
  readonly requestId: string;
  /** Who sent it; undefined where nobody got so far. */
  readonly principal: string | undefined;
  /** One of HTTP's; undefined where what came was no HTTP. */
  readonly method: string | undefined;
  /** Without the query, which may hold anything, and at most 256 printable characters of ASCII. */
  readonly path: string | undefined;
  readonly status: number;
  readonly error: ErrorNumber | undefined;
  /** Milliseconds, to the microsecond, from the last byte of the head to the answer; undefined where there was no head. */
  readonly duration: number | undefined;
  /** The client's, as far as proxies that are trusted know it, and else the other end of the connection. */
  readonly address: string | undefined;
  /** W3C Trace Context: the trace, and the caller's span in it. */
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
}

const requests = channel(REQUEST);

const MAX_PATH = 256;

/** What Node's class has, and its types do not tell. */
interface Internals {
  _expect_continue: boolean;
}

/** An answer of the public port, with what every one of them carries and what the log tells of it. */
export class PublicResponse extends ServerResponse<PublicRequest> {
  /** The client's, where a trusted proxy tells it. */
  address: string | undefined;
  error: ErrorNumber | undefined;
  readonly #begun = performance.now();

  /** Answers what does not reach the router, and ends the connection. */
  refuse(exception: ContractException): void {
    // What follows on the connection cannot be told from the rest of what was refused.
    this.shouldKeepAlive = false;
    this.error = exception.error;
    const json = JSON.stringify(exception.getResponse());
    this.writeHead(400, {
      ...exception.headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(json),
    }).end(json);
  }

  /** All answers pass here, once, whoever writes them. */
  override writeHead(
    statusCode: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    // Nobody here gives a reason.
    const given = typeof reason === 'object' ? reason : (headers ?? {});
    // A list: for an object that is put together, V8 would make a class for each answer.
    const all = Array.isArray(given) ? given : (Object.entries(given).flat() as OutgoingHttpHeader[]);
    // Node would end the connection, as the body might still come; but what came after it may have had its effect.
    if (this.req.complete) internalsOf(this)._expect_continue = false;
    const type = all.findIndex((name) => /^content-type$/i.test(String(name)));
    if (all[type + 1] === 'application/json; charset=utf-8') all[type + 1] = 'application/json';
    all.push('X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store', 'X-Request-Id', this.req.id);
    super.writeHead(statusCode, all);
    if (requests.hasSubscribers) requests.publish(this.#message(statusCode));
    return this;
  }

  #message(status: number): RequestMessage {
    const { id, method, url, trace, socket } = this.req;
    // The parser leaves them empty where there was no request line to read them from.
    const isHttp = typeof method === 'string' && typeof url === 'string' && url !== '';
    return {
      requestId: id,
      principal: principalOf(this.req)?.name,
      method: isHttp ? method : undefined,
      path: isHttp ? pathOf(url) : undefined,
      status,
      error: this.error,
      duration: isHttp ? Math.round((performance.now() - this.#begun) * 1_000) / 1_000 : undefined,
      address: this.address ?? socket.remoteAddress,
      traceId: trace?.traceId,
      spanId: trace?.spanId,
    };
  }
}

function internalsOf(response: ServerResponse): Internals {
  return response as unknown as Internals;
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  const path = url.slice(0, Math.min(query < 0 ? MAX_PATH : query, MAX_PATH));
  // Of a target that the rules of the message refuse.
  return /^[!-~]*$/.test(path) ? path : path.replace(/[^!-~]/g, '?');
}
