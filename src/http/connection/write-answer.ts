import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ContractException } from '../../contract/contract.exception.js';
import { describeAnswer, publishAnswer, reasonOf } from '../message/answer-event.js';
import type { Answer, PublicResponse } from '../message/public-response.js';

/** In characters. Longer answers become bytes: a string takes up to three times as much memory while the client reads. */
const LONG_ANSWER = 16_384;

/** The value of the header Connection. */
export type ConnectionOption = 'close' | 'keep-alive' | undefined;

/** How an answer is written, which depends on what follows it. */
interface Ending {
  readonly connection: ConnectionOption;
  /** If false, the response stays open. */
  readonly isEnded: boolean;
}

/** Writes the answer to a request with the headers that all answers have, and reports it to the log and the metrics. */
export function writeAnswer(response: PublicResponse, answer: Answer, { connection, isEnded }: Ending): void {
  const { req } = response;
  const { status, body, headers } = answer;
  // The headers are written after this: an object that is no JSON must still become error 500.
  const json = body === undefined ? undefined : JSON.stringify(body);
  response.writeHead(status, headersOf(req.id, connection, headers, json));
  publishAnswer(describeAnswer(response, answer));
  writeContent(response, req.method === 'HEAD' ? undefined : json, isEnded);
}

function writeContent(response: PublicResponse, json: string | undefined, isEnded: boolean): void {
  const content = json !== undefined && json.length > LONG_ANSWER ? Buffer.from(json) : json;
  if (isEnded) response.end(content);
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

/** Returns the headers of an answer: those that all have, those that are given, and those of its content. */
function headersOf(
  requestId: string,
  connection: ConnectionOption,
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
