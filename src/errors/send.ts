import { ServerResponse } from 'node:http';
import type { ContractException } from './contract.exception.js';
import type { ErrorNumber } from './error-table.js';

/** The error number that each refusal was sent with. */
const errors = new WeakMap<ServerResponse, ErrorNumber>();

/** The error number of an answer; undefined where it is no refusal. */
export function errorOf(response: ServerResponse): ErrorNumber | undefined {
  return errors.get(response);
}

/** What Fastify gives handlers to answer with; Express gives them Node's own response. */
export interface Reply {
  readonly sent: boolean;
  readonly raw: ServerResponse;
  code(status: number): this;
  headers(headers: Readonly<Record<string, string>>): this;
  send(body: Uint8Array): unknown;
}

/**
 * Sends an answer of the contract, unless one has been sent. Neither framework is asked to make JSON of it: both would
 * add a charset, which the media type does not have (RFC 8259 §11).
 */
export function send(
  response: Reply | ServerResponse,
  body: object,
  status: 200 | 400 = 200,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  const all = { ...headers, 'Content-Type': 'application/json' };
  if (!(response instanceof ServerResponse)) {
    if (!response.sent) response.code(status).headers(all).send(bytes);
  } else if (!response.headersSent) {
    response.writeHead(status, { ...all, 'Content-Length': bytes.length }).end(bytes);
  }
}

/** Sends a refusal, as `send` does. */
export function refuse(response: Reply | ServerResponse, exception: ContractException): void {
  errors.set(response instanceof ServerResponse ? response : response.raw, exception.error);
  send(response, exception.body, 400, exception.headers);
}
