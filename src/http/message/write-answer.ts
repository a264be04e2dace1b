import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeader } from 'node:http';
import type { Socket } from 'node:net';
import type { ContractException } from '../../contract/contract.exception.js';
import type { PublicRequest } from './public-request.js';
import type { Answer, PublicResponse } from './public-response.js';
import { messageOf, publishRequest, reasonOf } from './request-message.js';

/** Characters beyond which an answer waits for its client as bytes: as a string, it takes up to three times its bytes. */
const LONG_ANSWER = 16_384;

/**
 * Writes the answer to a request with the headers that all answers have, and reports it to the log and the metrics.
 *
 * @param options.isLast true if the connection closes after it
 * @param options.ends true if the response ends with it
 */
export function writeAnswer(
  response: PublicResponse,
  answer: Answer,
  { isLast, ends }: { readonly isLast: boolean; readonly ends: boolean },
): void {
  const { req } = response;
  const { status, body, headers } = answer;
  // First, because an object that is no JSON becomes error 500.
  const json = body === undefined ? undefined : JSON.stringify(body);
  // A flat list, which Node takes as it is.
  const all: OutgoingHttpHeader[] = commonHeaders(req.id);
  const connection = connectionHeader(req, isLast);
  if (connection !== undefined) all.push('Connection', connection);
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.push(name, value);
  if (json !== undefined) all.push(...jsonHeaders(json));
  response.writeHead(status, all);
  publishRequest(() => messageOf(response, answer));
  const content = req.method === 'HEAD' ? undefined : json;
  const bytes = content !== undefined && content.length > LONG_ANSWER ? Buffer.from(content) : content;
  if (ends) response.end(bytes);
  else if (bytes === undefined) response.flushHeaders();
  else response.write(bytes);
}

/** Writes the refusal of input that is not a request, for which Node has no response, and reports it in the same way. */
export function writeRefusal(socket: Socket, exception: ContractException): void {
  const requestId = randomUUID();
  const refusal = exception.getResponse();
  const address = socket.remoteAddress;
  publishRequest(() => ({ requestId, status: 400, ...reasonOf(refusal), address }));
  const json = JSON.stringify(refusal);
  const date = new Date().toUTCString();
  const given = Object.entries(exception.headers).flat();
  const all = [...commonHeaders(requestId), 'Connection', 'close', ...given, ...jsonHeaders(json), 'Date', date];
  const lines = all.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
  socket.write(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${json}`);
}

/** Returns names and values. */
function commonHeaders(requestId: string): string[] {
  return ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store', 'X-Request-Id', requestId];
}

function connectionHeader({ headers }: PublicRequest, isLast: boolean): string | undefined {
  if (isLast) return 'close';
  // Node closes the connection if it has not sent 100 Continue, but the client has sent its body without.
  return headers.expect === undefined ? undefined : 'keep-alive';
}

/** Returns names and values. The media type has no parameter charset (RFC 8259 §11). */
function jsonHeaders(json: string): string[] {
  return ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(json))];
}
