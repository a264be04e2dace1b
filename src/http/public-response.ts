import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { type IncomingHttpHeaders, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { principalOf } from '../auth/principal.js';
import type { ContractException } from '../contract/contract.exception.js';
import type { ErrorNumber } from '../contract/error-table.js';
import type { Connection } from './connection.js';
import type { PublicRequest } from './public-request.js';

/** The diagnostics channel with one message for every answer of the public port. */
export const REQUEST_CHANNEL = 'plant-store:request';

/** A message of the channel `plant-store:request`. */
export interface RequestMessage {
  readonly requestId: string;
  /** The name of the principal; undefined before authentication. */
  readonly principal: string | undefined;
  /** Undefined if the client did not send HTTP. */
  readonly method: string | undefined;
  /** Without the query, which may hold anything: at most 256 printable ASCII characters. */
  readonly path: string | undefined;
  readonly status: number;
  readonly error: ErrorNumber | undefined;
  /** Milliseconds, to the microsecond, from the end of the headers to the answer; undefined if there were no headers. */
  readonly duration: number | undefined;
  /** The client's address: the one that a trusted proxy names, otherwise the peer's. */
  readonly address: string | undefined;
  /** W3C Trace Context: the trace, and the caller's span in it. */
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
}

const requests = channel(REQUEST_CHANNEL);

/** Without a charset, which the media type does not define (RFC 8259 §11). */
const JSON_TYPE = 'application/json';

const MAX_PATH = 256;

/** A response on the public port: adds the headers that all answers have, and reports it to the log and the metrics. */
export class PublicResponse extends ServerResponse<PublicRequest> {
  /** The error number of the answer. */
  error: ErrorNumber | undefined;
  #isLast = false;
  readonly #begun = performance.now();

  /** Answers with a refusal, and closes the connection after it. */
  refuse(exception: ContractException): void {
    const body = JSON.stringify(exception.getResponse());
    this.error = exception.error;
    this.#isLast = true;
    this.writeHead(400, { ...exception.headers, 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(body) });
    this.end(body);
  }

  /** Runs for every answer: Node and Fastify both send the status line and the headers through it. */
  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    const given = (typeof reason === 'object' ? reason : headers) ?? {};
    // A flat list, which Node takes as it is.
    const all: OutgoingHttpHeader[] = [...commonHeaders(this.req.id), ...this.#connectionHeaders()];
    for (const [name, value] of Object.entries(given as Record<string, string | number>)) {
      // Fastify adds a charset.
      all.push(name, name === 'content-type' ? JSON_TYPE : value);
    }
    super.writeHead(status, all);
    if (requests.hasSubscribers) requests.publish(this.#message(status));
    return this;
  }

  /** Returns the headers that Node would not choose by itself. */
  #connectionHeaders(): string[] {
    const { complete, headers, httpVersion, method } = this.req;
    const { isDraining, keepAliveTimeout } = this.#connection;
    // Input that is not read could be taken for requests. After an Upgrade header, Node's parser drops input.
    if (this.#isLast || isDraining || !complete || headers.upgrade !== undefined || method === 'CONNECT') {
      return ['Connection', 'close'];
    }
    // Node closes the connection if it has not sent 100 Continue, but the body is complete without it.
    if (headers.expect !== undefined && httpVersion === '1.1' && !asksToClose(headers)) {
      return ['Connection', 'keep-alive', 'Keep-Alive', `timeout=${Math.floor(keepAliveTimeout / 1_000)}`];
    }
    return [];
  }

  get #connection(): Connection {
    return this.req.socket as unknown as Connection;
  }

  #message(status: number): RequestMessage {
    const { id, method, url = '', trace } = this.req;
    return {
      requestId: id,
      principal: principalOf(this.req)?.name,
      method,
      path: pathOf(url),
      status,
      error: this.error,
      duration: Math.round((performance.now() - this.#begun) * 1_000) / 1_000,
      address: this.req.forwardedAddress ?? this.#connection.remoteAddress,
      traceId: trace?.traceId,
      spanId: trace?.spanId,
    };
  }
}

/** Returns a refusal of what is not a request, as it is sent, and reports it to the log and the metrics. */
export function refusalMessage(exception: ContractException, address: string | undefined): string {
  const requestId = randomUUID();
  const body = JSON.stringify(exception.getResponse());
  const headers = [
    ...commonHeaders(requestId),
    ...Object.entries(exception.headers).flat(),
    ...['Content-Type', JSON_TYPE, 'Content-Length', String(Buffer.byteLength(body))],
    ...['Date', new Date().toUTCString(), 'Connection', 'close'],
  ];
  if (requests.hasSubscribers) {
    const message: RequestMessage = {
      requestId,
      principal: undefined,
      method: undefined,
      path: undefined,
      status: 400,
      error: exception.error,
      duration: undefined,
      address,
      traceId: undefined,
      spanId: undefined,
    };
    requests.publish(message);
  }
  const lines = headers.map((text, index) => text + (index % 2 === 0 ? ': ' : '\r\n'));
  return `HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`;
}

function asksToClose({ connection = '' }: IncomingHttpHeaders): boolean {
  return /\bclose\b/i.test(connection);
}

function commonHeaders(requestId: string): string[] {
  return ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store', 'X-Request-Id', requestId];
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  const path = url.slice(0, Math.min(query < 0 ? MAX_PATH : query, MAX_PATH));
  // A target that the rules for messages refuse may hold anything.
  return /^[!-~]*$/.test(path) ? path : path.replace(/[^!-~]/g, '?');
}
