import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeader } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { principalOf } from '../auth/authenticated-request.js';
import type { ContractException } from '../contract/contract.exception.js';
import { hasBody } from '../plants/read-body.js';
import { publishAnswer, publishRefusal } from './answer-event.js';

/** Milliseconds for which input behind a refusal is discarded: a client that still sends can then read the refusal. */
const LINGER = 2_000;

/**
 * Writes the answer to a request, and publishes it. The answer ends at once. If the request has an unread body, it ends
 * by `endAfterBody`, or earlier by Connections: when the rest of the body is late or not HTTP, or the service stops.
 */
export function writeAnswer(reply: FastifyReply, status: number, body?: object): void {
  const { raw: response, request } = reply;
  // Before `hijack`, because an object that is no JSON must still become error 500.
  const json = body === undefined ? undefined : JSON.stringify(body);
  // `reply.send` would take 10 µs more for each answer (measured).
  reply.hijack();
  const headers = headersOf(request.id, json, reply.getHeaders());
  const isUnread = hasUnreadBody(request.raw);
  const isStopping = !request.server.server.listening;
  // A client that reads `close` need not send the rest of its body. Strangers keep no connection open.
  if (isUnread || isStopping || isStranger(request.raw, status)) headers.connection = 'close';
  response.writeHead(status, headers);
  if (isUnread && json !== undefined) endAfterBody(reply, json);
  else response.end(json);
  publishAnswer(reply, status, body);
}

/** Refuses a request. */
export function refuse(reply: FastifyReply, refusal: ContractException): void {
  reply.headers(refusal.headers);
  writeAnswer(reply, refusal.getStatus(), refusal.getResponse());
}

/** Returns whether a request has a body that was not read to its end. No middleware of this adapter hides its headers. */
function hasUnreadBody({ headers, readableEnded }: IncomingMessage): boolean {
  return hasBody(headers) && !readableEnded;
}

/** Returns whether a request has no valid token. The preflight of an allowed origin (status 204) needs none. */
function isStranger(request: IncomingMessage, status: number): boolean {
  return principalOf(request) === undefined && status !== 204;
}

/**
 * Ends an answer when the rest of the request's body was discarded. Otherwise Node would reset the connection of a
 * client that still sends, and the client would lose the answer (RFC 9112 §9.6).
 */
function endAfterBody(reply: FastifyReply, json: string): void {
  reply.raw.write(json);
  reply.request.raw.once('close', () => endAnswer(reply)).resume();
}

/** Ends an answer that has been written. If it has ended before, nothing happens. */
export function endAnswer({ raw: response }: FastifyReply): void {
  if (response.headersSent) response.end();
}

/** Writes the refusal of input that is not a request, for which Node has no response, and ends the connection. */
export function writeRefusal(socket: Socket, refusal: ContractException): void {
  // The client may have gone, or the answer before it was the last one.
  if (!socket.writable) return;
  const requestId = randomUUID();
  const body = refusal.getResponse();
  publishRefusal(requestId, body, socket.remoteAddress);
  const json = JSON.stringify(body);
  const headers = {
    ...headersOf(requestId, json, refusal.headers),
    date: new Date().toUTCString(),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${json}`);
  setTimeout(() => socket.destroy(), LINGER).unref();
}

type Headers = Record<string, OutgoingHttpHeader | undefined>;

/** Returns the headers of an answer, with those that only this one has. */
function headersOf(requestId: string, json: string | undefined, own: Headers): Headers {
  const headers: Headers = {
    ...own,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-request-id': requestId,
  };
  if (json !== undefined) {
    // The type has no parameter charset (RFC 8259 §11).
    headers['content-type'] = 'application/json';
    headers['content-length'] = Buffer.byteLength(json);
  }
  return headers;
}
