import { randomUUID } from 'node:crypto';
import { type OutgoingHttpHeader, ServerResponse } from 'node:http';
import { principalOf, refusalOf } from '../auth/authentication.js';
import type { ContractException, ErrorBody } from '../contract/contract.exception.js';
import { ERROR_TABLE } from '../contract/error-table.js';
import type { ClientConnection } from './client-connection.js';
import { PREFLIGHT_STATUS } from './cross-origin.js';
import type { PublicRequest } from './public-request.js';
import { publishRequest, type RequestMessage } from './request-channel.js';

/** Without a charset, which the media type does not define (RFC 8259 §11). */
const JSON_TYPE = 'application/json';

const MAX_PATH = 256;

/** Characters beyond which an answer waits for its client as bytes: as a string, it takes up to three times its bytes. */
const LONG_ANSWER = 16_384;

/** A response on the public port: adds the headers that all answers have, and reports it to the log and the metrics. */
export class PublicResponse extends ServerResponse<PublicRequest> {
  /** The body of the answer, if it refuses the request. */
  errorBody: ErrorBody | undefined;
  /** Set before the request is answered. */
  client: ClientConnection | undefined;
  /** True if the connection closes after this answer, and the client may still send. */
  #isLast = false;
  readonly #begun = performance.now();

  /** Answers with a refusal. */
  refuse(exception: ContractException): void {
    this.errorBody = exception.getResponse();
    const { headers, body } = render(exception);
    this.writeHead(400, headers);
    this.end(body);
  }

  /** Runs for every answer: Fastify and Node's implicit headers call it with one object or none. */
  override writeHead(status: number, given?: unknown): this {
    this.#isLast = this.#endsConnection(status);
    // A flat list, which Node takes as it is.
    const all: OutgoingHttpHeader[] = commonHeaders(this.req.id);
    if (this.#isLast || this.req.asksToClose) all.push('Connection', 'close');
    // Node closes the connection if it has not sent 100 Continue, but the client has sent its body without.
    else if (this.req.headers.expect !== undefined) all.push('Connection', 'keep-alive');
    for (const [name, value] of Object.entries((given ?? {}) as Record<string, string | number>)) {
      // Fastify adds a charset.
      all.push(name, name === 'content-type' ? JSON_TYPE : value);
    }
    super.writeHead(status, all);
    publishRequest(() => this.#message(status));
    return this;
  }

  /** After a last answer, Node's own `end` would close the socket at once: a reset, if the client still sends. */
  override end(content?: unknown): this {
    const { client } = this;
    client?.noteAnswer(this.statusCode);
    const isComplete = !this.#isLast && client?.endsWithError !== true;
    if (typeof content === 'string' && this.req.method !== 'HEAD') {
      this.write(content.length > LONG_ANSWER ? Buffer.from(content) : content);
      // One write for head and body: `end(content)` would send an empty string with them, which takes 15 µs more.
      this.socket?.uncork();
    } else if (!isComplete) {
      this.flushHeaders();
    }
    if (isComplete) return super.end(() => client?.continue());
    // What follows a request that asks to close is ignored, and no error.
    if (this.#isLast || this.req.asksToClose) client?.end();
    else client?.sendLastError();
    return this;
  }

  #endsConnection(status: number): boolean {
    const isStranger = principalOf(this.req) === undefined && status !== PREFLIGHT_STATUS;
    // After Upgrade, Node's parser drops input.
    const isUpgrade = this.req.headers.upgrade !== undefined;
    return isStranger || isUpgrade || this.req.hasUnreadBody || this.client?.isDraining === true;
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
      ...reasonOf(this.errorBody),
      refusal: refused?.reason,
      duration: Math.round((performance.now() - this.#begun) * 1_000) / 1_000,
      address: this.req.forwardedAddress ?? this.req.socket.remoteAddress,
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
  const { headers, body } = render(exception);
  const date = new Date().toUTCString();
  const all = [...commonHeaders(requestId), ...Object.entries(headers).flat(), 'Date', date, 'Connection', 'close'];
  const lines = all.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
  return `HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`;
}

/** Returns the parts that all refusals have, with or without a request. */
function render(exception: ContractException): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(exception.getResponse());
  const length = String(Buffer.byteLength(body));
  return { headers: { ...exception.headers, 'content-type': JSON_TYPE, 'content-length': length }, body };
}

/** Returns what the log tells of a refusal: the message, unless it is that of every such answer. */
function reasonOf(body: ErrorBody | undefined): Pick<RequestMessage, 'error' | 'reason'> {
  if (body === undefined) return {};
  const { error, message } = body;
  return message === ERROR_TABLE[error].message ? { error } : { error, reason: message };
}

/** Returns names and values. */
function commonHeaders(requestId: string): string[] {
  return ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store', 'X-Request-Id', requestId];
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  const path = url.slice(0, Math.min(query < 0 ? MAX_PATH : query, MAX_PATH));
  // A target that the rules for messages refuse may hold anything.
  return /^[!-~]*$/.test(path) ? path : path.replace(/[^!-~]/g, '?');
}
