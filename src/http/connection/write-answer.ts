import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ContractException } from '../../contract/contract.exception.js';
import { describeAnswer, failureOf, publishAnswer } from '../message/answer-event.js';
import type { PublicRequest } from '../message/public-request.js';
import type { Answer, PublicResponse } from '../message/public-response.js';

/** In characters. Longer answers become bytes: a string takes up to three times as much memory while the client reads. */
const LONG_ANSWER = 16_384;

/** Names what follows an answer on its connection: the next request, the refusal of other input, or nothing. */
export type Next = 'request' | 'refusal' | 'nothing';

/** Writes the answer to a request with the headers that all answers have, and reports it to the log and the metrics. */
export function writeAnswer(response: PublicResponse, answer: Answer, next: Next): void {
  const { req } = response;
  const { status, body, headers } = answer;
  // The headers are written after this: an object that is no JSON must still become error 500.
  const json = body === undefined ? undefined : JSON.stringify(body);
  response.writeHead(status, headersOf(req.id, connectionOption(req, next), headers, json));
  publishAnswer(describeAnswer(response, answer));
  const text = req.method === 'HEAD' ? undefined : json;
  const content = text !== undefined && text.length > LONG_ANSWER ? Buffer.from(text) : text;
  if (next === 'request') response.end(content);
  else writeWithoutEnd(response, content);
}

/**
 * Writes an answer that no request follows, without ending its response. Otherwise Node would close the socket:
 *
 * - after `Connection: close`, with a reset if the client still sends
 * - before a refusal, if the client has half-closed
 *
 * The response emits `close` when its socket closes.
 */
function writeWithoutEnd(response: PublicResponse, content: string | Buffer | undefined): void {
  if (content === undefined) response.flushHeaders();
  else response.write(content);
}

/** Returns the header Connection of the answer to a request; undefined leaves it to Node. */
function connectionOption({ headers }: PublicRequest, next: Next): string | undefined {
  if (next === 'nothing') return 'close';
  // Node would close the connection of a client that has sent its body without waiting for 100 Continue.
  return headers.expect === undefined ? undefined : 'keep-alive';
}

/** Writes the refusal of input that is not a request, for which Node has no response, and reports it in the same way. */
export function writeRefusal(socket: Socket, refusal: ContractException): void {
  const requestId = randomUUID();
  const body = refusal.getResponse();
  publishAnswer({ requestId, statusCode: 400, ...failureOf(body), address: socket.remoteAddress });
  const json = JSON.stringify(body);
  const headers = headersOf(requestId, 'close', refusal.headers, json);
  headers.Date = new Date().toUTCString();
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.write(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${json}`);
}

/** Returns the headers of an answer: those that all have, those that are given, and those of its content. */
function headersOf(
  requestId: string,
  connection: string | undefined,
  given: Answer['headers'],
  json: string | undefined,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'X-Request-Id': requestId,
  };
  if (connection !== undefined) headers.Connection = connection;
  Object.assign(headers, given);
  if (json !== undefined) {
    // The type has no parameter charset (RFC 8259 §11).
    headers['Content-Type'] = 'application/json';
    headers['Content-Length'] = Buffer.byteLength(json);
  }
  return headers;
}
