import { ServerResponse } from 'node:http';

/** What Fastify gives handlers to answer with; Express gives them Node's own response. */
export interface Reply {
  readonly sent: boolean;
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
  status: 200 | 400,
  body: object,
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
