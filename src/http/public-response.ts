import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { principalOf } from '../auth/principal.js';
import { refusalOf } from '../auth/refusals.js';
import type { ContractException, ErrorBody } from '../contract/contract.exception.js';
import { ERROR_TABLE } from '../contract/error-table.js';
import type { PublicRequest } from './public-request.js';
import { publishRequest, type RequestMessage } from './request-channel.js';

/** Without a charset, which the media type does not define (RFC 8259 §11). */
const JSON_TYPE = 'application/json';

const MAX_PATH = 256;

/** A response on the public port: adds the headers that all answers have, and reports it to the log and the metrics. */
export class PublicResponse extends ServerResponse<PublicRequest> {
  /** The body of the answer, if it refuses the request. */
  refusal: ErrorBody | undefined;
  #isLast = false;
  readonly #begun = performance.now();

  /** Answers with a refusal, and closes the connection after it. */
  refuse(exception: ContractException): void {
    this.refusal = exception.getResponse();
    const body = JSON.stringify(this.refusal);
    this.#isLast = true;
    this.writeHead(400, { ...exception.headers, 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(body) });
    this.end(body);
  }

  /** Runs for every answer: Fastify and Node's implicit headers both call it. The reason phrase is always Node's. */
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
    publishRequest(() => this.#message(status));
    return this;
  }

  /** Returns the headers that Node would not choose by itself. */
  #connectionHeaders(): string[] {
    const { complete, headers, httpVersion, method } = this.req;
    const { isDraining, keepAliveTimeout } = this.req.clientConnection;
    // Unread input would be parsed as a request. After Upgrade and CONNECT, Node's parser drops input.
    if (this.#isLast || isDraining || !complete || headers.upgrade !== undefined || method === 'CONNECT') {
      return ['Connection', 'close'];
    }
    // Node closes the connection if it has not sent 100 Continue, but the client has sent its body without.
    if (headers.expect !== undefined && httpVersion === '1.1' && !asksToClose(headers)) {
      return ['Connection', 'keep-alive', 'Keep-Alive', `timeout=${Math.floor(keepAliveTimeout / 1_000)}`];
    }
    return [];
  }

  #message(status: number): RequestMessage {
    const { id, method, url = '', trace } = this.req;
    const refused = refusalOf(this.req);
    return {
      requestId: id,
      principal: principalOf(this.req)?.name ?? refused?.principal,
      method,
      path: pathOf(url),
      status,
      ...reasonOf(this.refusal),
      refusal: refused?.reason,
      duration: Math.round((performance.now() - this.#begun) * 1_000) / 1_000,
      address: this.req.forwardedAddress ?? this.req.clientConnection.remoteAddress,
      traceId: trace?.traceId,
      spanId: trace?.spanId,
    };
  }
}

/** Publishes the refusal of input that is not a request, and returns it as it is sent. */
export function refuseInput(exception: ContractException, address: string | undefined): string {
  const requestId = randomUUID();
  const refusal = exception.getResponse();
  publishRequest(() => ({ requestId, status: 400, ...reasonOf(refusal), address }));
  const body = JSON.stringify(refusal);
  const headers = [
    ...commonHeaders(requestId),
    ...Object.entries(exception.headers).flat(),
    ...['Content-Type', JSON_TYPE, 'Content-Length', String(Buffer.byteLength(body))],
    ...['Date', new Date().toUTCString(), 'Connection', 'close'],
  ];
  const lines = headers.map((text, index) => text + (index % 2 === 0 ? ': ' : '\r\n'));
  return `HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`;
}

/** Returns what the log tells of a refusal: the message, unless it is that of every such answer. */
function reasonOf(refusal: ErrorBody | undefined): Pick<RequestMessage, 'error' | 'reason'> {
  if (refusal === undefined) return {};
  const { error, message } = refusal;
  return message === ERROR_TABLE[error].message ? { error } : { error, reason: message };
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
