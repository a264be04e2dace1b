import { ServerResponse } from 'node:http';
import type { ContractException } from './contract.exception.js';
import type { ErrorNumber } from './error-table.js';

/** Without a charset, which the media type does not have (RFC 8259 §11). */
export const JSON_TYPE = 'application/json';

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
  /** Sends JSON, with these headers beside its own. The public port has it: it needs nothing of what Fastify does. */
  answer?(status: number, headers: Readonly<Record<string, string>>, json: string): void;
}

/**
 * Sends an answer of the contract, unless one has been sent. Neither framework is asked to make JSON of it: both would
 * add a charset.
 */
export function send(
  response: Reply | ServerResponse,
  body: object,
  status: 200 | 400 = 200,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  if (response instanceof ServerResponse) {
    if (response.headersSent) return;
    const length = Buffer.byteLength(text);
    response.writeHead(status, { ...headers, 'Content-Type': JSON_TYPE, 'Content-Length': length }).end(text);
  } else if (response.sent) {
    return;
  } else if (response.answer !== undefined) {
    response.answer(status, headers, text);
  } else {
    response
      .code(status)
      .headers({ ...headers, 'Content-Type': JSON_TYPE })
      .send(Buffer.from(text));
  }
}

/** Sends a refusal, as `send` does. */
export function refuse(response: Reply | ServerResponse, exception: ContractException): void {
  errors.set(response instanceof ServerResponse ? response : response.raw, exception.error);
  send(response, exception.body, 400, exception.headers);
}
