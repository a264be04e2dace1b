import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ContractException } from '../../contract/contract.exception.js';
import { describeAnswer, publishAnswer, reasonOf } from '../message/answer-event.js';
import type { PublicRequest } from '../message/public-request.js';
import type { Answer, PublicResponse } from '../message/public-response.js';

/** In characters. Longer answers become bytes: a string takes up to three times as much memory while the client reads. */
const LONG_ANSWER = 16_384;

/** The next step of a connection after an answer: it goes on, sends a refusal that waits, or closes. */
export type NextStep = 'go on' | 'refusal follows' | 'close';

/** Writes the answer to a request with the headers that all answers have, and reports it to the log and the metrics. */
export function writeAnswer(response: PublicResponse, answer: Answer, next: NextStep): void {
  const { req } = response;
  const { status, body, headers } = answer;
  // The headers are written after this: an object that is no JSON must still become error 500.
  const json = body === undefined ? undefined : JSON.stringify(body);
  response.writeHead(status, headersOf(req.id, connectionOption(req, next), headers, json));
  publishAnswer(describeAnswer(response, answer));
  writeContent(response, req.method === 'HEAD' ? undefined : json, next);
}

/**
 * Writes the content, and ends the response if the connection goes on. Otherwise, the response stays open until the socket
 * closes. When a response ends, Node closes the socket of a client that has half-closed, so that no refusal can follow.
 * After `Connection: close`, Node closes any socket, with a reset if the client still sends.
 */
function writeContent(response: PublicResponse, json: string | undefined, next: NextStep): void {
  const content = json !== undefined && json.length > LONG_ANSWER ? Buffer.from(json) : json;
  if (next === 'go on') response.end(content);
  else if (content === undefined) response.flushHeaders();
  else response.write(content);
}

/** Writes the refusal of input that is not a request, for which Node has no response, and reports it in the same way. */
export function writeRefusal(socket: Socket, refusal: ContractException): void {
  const requestId = randomUUID();
  const body = refusal.getResponse();
  publishAnswer({ requestId, status: 400, ...reasonOf(body), address: socket.remoteAddress });
  const json = JSON.stringify(body);
  const headers = headersOf(requestId, 'close', refusal.headers, json);
  headers.Date = new Date().toUTCString();
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.write(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${json}`);
}

function connectionOption({ headers }: PublicRequest, next: NextStep): 'close' | 'keep-alive' | undefined {
  // Before a refusal, the answer has no `close`, after which a client would read nothing. The refusal has it.
  if (next === 'close') return 'close';
  // Node would close the connection of a client that has sent its body without waiting for 100 Continue.
  return headers.expect === undefined ? undefined : 'keep-alive';
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
