import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeader } from 'node:http';
import type { Socket } from 'node:net';
import type { ContractException } from '../../contract/contract.exception.js';
import type { PublicRequest } from './public-request.js';
import type { Answer, PublicResponse } from './public-response.js';
import { describeAnswer, publishRequest, reasonOf } from './request-message.js';

/** Characters beyond which an answer waits for its client as bytes: as a string, it takes up to three times its bytes. */
const LONG_ANSWER = 16_384;

/** What its connection does after an answer: it goes on with other requests, refuses other input, or closes. */
export type NextStep = 'go on' | 'refuse' | 'close';

/** Writes the answer to a request with the headers that all answers have, and reports it to the log and the metrics. */
export function writeAnswer(response: PublicResponse, answer: Answer, next: NextStep): void {
  const { req } = response;
  const { status, body, headers } = answer;
  // First, because an object that is no JSON becomes error 500.
  const json = body === undefined ? undefined : JSON.stringify(body);
  // A flat list, which Node takes as it is.
  const all: OutgoingHttpHeader[] = commonHeaders(req.id);
  const connection = connectionHeader(req, next);
  if (connection !== undefined) all.push('Connection', connection);
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.push(name, value);
  if (json !== undefined) all.push(...jsonHeaders(json));
  response.writeHead(status, all);
  publishRequest(() => describeAnswer(response, answer));
  writeContent(response, req.method === 'HEAD' ? undefined : json, next);
}

/**
 * Writes the content, and ends the response if its connection goes on. Otherwise, the response stays open until its socket
 * closes: at its end, Node would close the socket of a client that has half-closed, before a refusal could follow, or any
 * socket after `Connection: close`, with a reset if the client still sends.
 */
function writeContent(response: PublicResponse, json: string | undefined, next: NextStep): void {
  const content = json !== undefined && json.length > LONG_ANSWER ? Buffer.from(json) : json;
  if (next === 'go on') response.end(content);
  else if (content === undefined) response.flushHeaders();
  else response.write(content);
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

function connectionHeader({ headers }: PublicRequest, next: NextStep): string | undefined {
  if (next === 'close') return 'close';
  // Node closes the connection if it has not sent 100 Continue, but the client has sent its body without.
  return headers.expect === undefined ? undefined : 'keep-alive';
}

/** Returns names and values. The media type has no parameter charset (RFC 8259 §11). */
function jsonHeaders(json: string): string[] {
  return ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(json))];
}
